// Colours the examples of the documentation and the library whole: none of their text may be taken for an error, and
// no bracket, string or header may stay open at their end. Then looks whether tests/*.tsr expect every scope of the grammar.

const fs = require("fs");
const path = require("path");
const textmate = require("vscode-textmate");
const { examples, grammarFile, loadGrammar, root } = require("./grammar.js");

/** [name, text] of each file of a folder of the repository that ends in .tsr. */
function sources(folder) {
  return fs.readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) return sources(name);
    return name.endsWith(".tsr") ? [[name, fs.readFileSync(path.join(root, name), "utf8")]] : [];
  });
}

function errors(grammar, [name, text]) {
  const found = [];
  let state = textmate.INITIAL;
  text.replace(/\n$/, "").split("\n").forEach((line, at) => {
    const result = grammar.tokenizeLine(line, state);
    state = result.ruleStack;
    for (const token of result.tokens) {
      const wrong = token.scopes.find((scope) => scope.startsWith("invalid."));
      const part = line.slice(token.startIndex, token.endIndex);
      if (wrong) found.push(`${name}: line ${at + 1}: '${part}' is ${wrong}`);
    }
  });
  if (state.depth !== 1) found.push(`${name}: something is still open at the end`);
  return found;
}

function unexpectedScopes() {
  const tests = fs.readdirSync(__dirname).filter((name) => name.endsWith(".tsr"));
  const lines = tests.flatMap((name) => fs.readFileSync(path.join(__dirname, name), "utf8").split("\n"));
  const expected = new Set(lines.filter((line) => /^#\s*[\^<]/.test(line)).flatMap((line) => line.split(/\s+/)));
  const names = [...fs.readFileSync(grammarFile, "utf8").matchAll(/"name": "([^"]*\.tessera)"/g)];
  const scopes = new Set(names.flatMap((match) => match[1].split(" ")));
  return [...scopes].filter((scope) => !expected.has(scope)).map((scope) => `no test expects ${scope}`);
}

async function main() {
  const grammar = await loadGrammar();
  const texts = [...examples("docs/language.md"), ...examples("docs/kernels.md"), ...sources("stdlib"), ...sources("examples")];
  if (texts.length < 50) throw new Error(`only ${texts.length} examples were found`);
  const found = [...texts.flatMap((text) => errors(grammar, text)), ...unexpectedScopes()];
  found.forEach((line) => console.log(line));
  console.log(`${texts.length} sources, ${found.length} errors`);
  process.exitCode = found.length > 0 ? 1 : 0;
}

main();
