// What the tests of the grammar share: the grammar, and the examples of the documentation.

const fs = require("fs");
const path = require("path");
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");

const root = path.resolve(__dirname, "../../..");
const grammarFile = path.join(__dirname, "../syntaxes/tessera.tmLanguage.json");

async function loadGrammar() {
  const wasm = fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.length));
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => textmate.parseRawGrammar(fs.readFileSync(grammarFile, "utf8"), grammarFile),
  });
  return registry.loadGrammar("source.tessera");
}

/** [name:line, text] of each example of a page. */
function examples(page) {
  const text = fs.readFileSync(path.join(root, page), "utf8").replace(/\r/g, "");
  return [...text.matchAll(/^```python\n([^]*?)^```/gm)].map((match) => [
    `${page}:${text.slice(0, match.index).split("\n").length + 1}`,
    match[1],
  ]);
}

module.exports = { examples, grammarFile, loadGrammar, root };
