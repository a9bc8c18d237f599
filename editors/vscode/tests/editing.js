// What the rules of language-configuration.json make of a line: the indentation after it, and that of the line itself.

const assert = require("assert");
const rules = require("../language-configuration.json");

/** "indent", "outdent" or "none": what Enter at the end of a line does. */
function afterEnter(line) {
  const rule = rules.onEnterRules.find((each) => new RegExp(each.beforeText).test(line));
  return rule ? rule.action.indent : "none";
}

const expected = {
  indent: [
    "def f(x: Tensor[B, f32]) -> Tensor[B, f32] where B > 1:",
    ") -> Tensor[B, f32]:",
    "module M(D: dim):",
    "    for i in range(n):  # each",
    "    elif a[1:]:",
    "    else:",
    "    on device(gpu[0]):",
  ],
  outdent: ["    return x[:, 1:]", "    return", "    pass"],
  none: [
    "# for all of them:",
    "    if a: x = 1",
    '    table = {"a":',
    "    return f(",
    "    return (a,",
    "    return a \\",
    "    passed = 1",
    "    returned",
    "format = 1",
  ],
};

for (const [action, lines] of Object.entries(expected)) {
  for (const line of lines) assert.strictEqual(afterEnter(line), action, line);
}

const { increaseIndentPattern, decreaseIndentPattern } = rules.indentationRules;
for (const line of [...expected.indent, ...expected.outdent, ...expected.none]) {
  assert.strictEqual(new RegExp(increaseIndentPattern).test(line), expected.indent.includes(line), line);
}
for (const line of ["    else:", "    elif a:", "else :  # b"]) assert.match(line, new RegExp(decreaseIndentPattern));
for (const line of ["    if a:", "    x = 1 if a else b", "    elsewhere:"]) {
  assert.doesNotMatch(line, new RegExp(decreaseIndentPattern));
}

assert.deepStrictEqual("tile.softmax_online(x2)".match(new RegExp(rules.wordPattern, "g")), ["tile", "softmax_online", "x2"]);
console.log("editing: as expected");
