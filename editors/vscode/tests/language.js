// Each construct in the examples of docs/language.md and docs/kernels.md has its scope. The examples are read here line by
// line with patterns of their own, which know what the reader of a page sees, not how the grammar finds it.

const fs = require("fs");
const path = require("path");
const { examples, loadGrammar, root } = require("./grammar.js");
const textmate = require("vscode-textmate");

const table = (file, pattern) =>
  [...fs.readFileSync(path.join(root, file), "utf8").matchAll(pattern)].map((match) => match[1]).join("|");
const DTYPES = table("src/ir/numbers/dtypes.def", /^DTYPE\(.*"(\w+)"\)/gm);
const BUILTINS = table("src/frontend/values/builtins.def", /^(?:ELEMENTWISE_)?BUILTIN\(\w+, "(\w+)"/gm);
const POLICIES = table("src/frontend/binding/words.def", /^POLICY\("(\w+)"/gm);

/** What is expected: a pattern on a line without its strings and comments, and the scope of each of its groups. */
const CONSTRUCTS = [
  ["control flow", /\b(if|elif|else|for|while|with|pass|return|as)\b/, ["keyword.control"]],
  ["word operators", /\b(and|or|not|in|is)\b/, ["keyword.operator"]],
  ["constants", /(?<![\w.])(True|False|None)\b/, ["constant.language"]],
  ["named numbers", /(?<![\w.])(INF|NAN)\b/, ["support.constant"]],
  ["imports", /^\s*(import|from)\b/, ["keyword.control.import"]],
  ["imported module", /^\s*(?:import|from) (\w+)/, ["entity.name.namespace"]],
  ["functions", /^\s*(def) (\w+)/, ["storage.type.function", "entity.name.function"]],
  ["modules", /^\s*(module) (\w+)/, ["storage.type.module", "entity.name.type.module"]],
  ["lambdas", /\b(lambda) (\w+)/, ["storage.type.function.lambda", "variable.parameter"]],
  ["declarations", /^\s*(const|dim|param) (\w+)/, ["storage.type.declaration", "variable.other.constant.declaration"]],
  ["placement", /^\s*(on) \w/, ["keyword.control.on"]],
  ["decorators", /^\s*(@)([\w.]+)/, ["punctuation.definition.decorator", "entity.name.function.decorator"]],
  ["several decorators", /^\s*@[\w.]+ (@)(\w+)/, ["punctuation.definition.decorator", "entity.name.function.decorator"]],
  ["policies", new RegExp(`\\w\\]? (@)(${POLICIES})\\b`), ["keyword.operator.policy", "storage.modifier.policy"]],
  ["products", / (@) /, ["keyword.operator.arithmetic"]],
  ["hexadecimal numbers", /(?<!\w)(0x\w+)/, ["constant.numeric.hex"]],
  ["floats", /(?<![\w.])(\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+|\.\d+)/, ["constant.numeric.float"]],
  ["integers", /(?<![\w.]|\de[+-])(\d[\d_]*)(?![\w.])/, ["constant.numeric.integer"]],
  ["directives", /^(%\w+)/, ["keyword.control.directive"]],
  ["macros", /^%define (\w+)/, ["entity.name.function.macro"]],
  ["condition of directives", /^%(?:el)?if (defined)\(/, ["support.function.defined"]],
  ["result", /\) (->) /, ["keyword.operator.arrow"]],
  ["effects", /(!)\{(\w+)/, ["keyword.operator.effects", "storage.modifier.effect"]],
  ["clauses", /^(?:def|module|\)| +(?=.*\) ->)).*\)[^(]* (where) /, ["keyword.control.where"]],
  ["dtypes", new RegExp(`(?<![\\w.])(${DTYPES})\\b(?! *=)`), ["storage.type.dtype"]],
  ["types", /(?<![\w.])(Tensor|Param|KTile|KVCache|OptimizerState)\[/, ["support.type"]],
  ["privileges", /(Region)\[(\w+)\] /, ["storage.modifier.region", "storage.modifier.privilege"]],
  ["comparisons", / (==|!=|<=|>=|<|>) /, ["keyword.operator.comparison"]],
  ["arithmetic", / (\+|-|\*|\/|\/\/|%|\*\*) /, ["keyword.operator.arithmetic"]],
  ["bits", / (&|\||\^|<<|>>) /, ["keyword.operator.bitwise"]],
  ["augmented assignments", / (\+=|-=|\*=|\/=|@=|\*\*=|&=|\|=|\^=|<<=|>>=|\/\/=|%=) /, ["keyword.operator.assignment"]],
  ["assignments", /^\s*[\w, ]+ (=) /, ["keyword.operator.assignment"]],
  ["keyword arguments", /[(,] ?(\w+)(=)(?!=)/, ["variable.parameter", "keyword.operator.assignment"]],
  ["parameters", /^\s*def \w+\((\w+)/, ["variable.parameter"]],
  ["typed parameters", /^def \w+\(.*?, (\w+): /, ["variable.parameter"]],
  ["fields", /^    (\w+): (?:Param|\[?[A-Z]\w+\()/, ["variable.other.declaration"]],
  ["kernel functions", /(?<![\w.])(tile)\.(load|dot|zeros|context|range|cast|sum)\b/, ["support.namespace", "support.function.tile"]],
  ["functions of the language", new RegExp(`(?<![\\w.])(?<!def |@)(${BUILTINS})\\(`), ["support."]],
];

/** Code and comments of a block, line by line, each with blanks in the place of the other; strings are in neither. */
function parts(text) {
  const code = text.replace(/"""[^]*?"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|#.*/g, (found) => found.replace(/[^\n]/g, " "));
  const comments = text.replace(/"""[^]*?"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g, (found) => found.replace(/[^\n]/g, " "));
  const strings = [...text.matchAll(/"""[^]*?"""|#.*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g)].filter((match) => match[0][0] !== "#");
  return { code: code.split("\n"), comments: comments.split("\n"), strings };
}

/** By line and column: the scopes. */
function scopes(grammar, text) {
  let state = textmate.INITIAL;
  return text.split("\n").map((line) => {
    const result = grammar.tokenizeLine(line, state);
    state = result.ruleStack;
    const columns = [];
    for (const token of result.tokens) {
      for (let at = token.startIndex; at < token.endIndex; ++at) columns[at] = token.scopes;
    }
    return columns;
  });
}

function check(grammar, [name, text], seen) {
  const found = [];
  const given = scopes(grammar, text);
  const { code, comments, strings } = parts(text);
  const expect = (line, begin, end, what, scope) => {
    for (let at = begin; at < end; ++at) {
      if (given[line][at].some((each) => each.startsWith(scope))) continue;
      found.push(`${name}: line ${line + 1}, column ${at + 1}: ${what} is ${given[line][at].slice(1)}, not ${scope}`);
      return;
    }
  };
  code.forEach((line, number) => {
    for (const [what, pattern, wanted] of CONSTRUCTS) {
      if (line.startsWith("%") && !/^\^\(?%|directives|integers/.test(pattern.source + what)) continue;
      for (const match of line.matchAll(new RegExp(pattern.source, "dg"))) {
        seen.add(what);
        wanted.forEach((scope, group) => expect(number, ...match.indices[group + 1], what, scope));
      }
    }
    const comment = comments[number].indexOf("#");
    if (comment < 0) return;
    seen.add("comments");
    expect(number, comment, comments[number].length, "a comment", "comment.line");
  });
  for (const match of strings) {
    seen.add("strings");
    const line = text.slice(0, match.index).split("\n").length - 1;
    const begin = match.index - (text.lastIndexOf("\n", match.index) + 1);
    expect(line, begin, begin + match[0].split("\n")[0].length, "a string", "string.quoted");
  }
  return found;
}

async function main() {
  const grammar = await loadGrammar();
  const seen = new Set();
  const texts = [...examples("docs/language.md"), ...examples("docs/kernels.md")];
  const found = texts.flatMap((text) => check(grammar, text, seen));
  for (const [what] of CONSTRUCTS) {
    if (!seen.has(what)) found.push(`no example has ${what}`);
  }
  found.forEach((line) => console.log(line));
  console.log(`${texts.length} examples, ${seen.size} kinds of constructs, ${found.length} errors`);
  process.exitCode = found.length > 0 ? 1 : 0;
}

main();
