// A client made of the protocol's own packages from npm: every message of the server is checked against the types of
// LSP 3.17 (vscode-languageserver-types), and its content for what a user of the editor sees.
// Usage: node protocol.js BUILD_DIR NODE_MODULES   exits with 77, which counts as skipped, where the packages are missing

'use strict';
const assert = require('assert');
const { spawn } = require('child_process');
const path = require('path');

const [build, modules] = process.argv.slice(2);
let rpc, types;
try {
  rpc = require(path.join(modules, 'vscode-jsonrpc/node'));
  types = require(path.join(modules, 'vscode-languageserver-types'));
} catch {
  console.log('skipped: needs vscode-jsonrpc and vscode-languageserver-types (tools/setup.sh --editors)');
  process.exit(77);
}

const uri = 'file:///protocol/model.tsr';
const text = `from tessera.nn import layernorm

# How wide everything is.
const WIDTH = 64


def scaled(x: Tensor[B, D, T], by: float = 2.0) -> Tensor[B, D, T]:
    """Each element times a number."""
    y = x * by
    return y


@jit
def entry(x: Tensor[B, WIDTH, f32]) -> Tensor[B, WIDTH, f32]:
    h = scaled(layernorm(x), by=0.5)
    return gelu(h) + sum(h, 1, True)
`;

const listOf = (is) => (value) => Array.isArray(value) && value.every((element) => is(element));
const orNull = (is) => (value) => value === null || is(value);
const isText = (value) => typeof value === 'string';
const isCount = (value) => Number.isInteger(value) && value >= 0;
const isCallItem = (item) =>
  isText(item.name) && isCount(item.kind) && isText(item.uri) && types.Range.is(item.range) &&
  types.Range.is(item.selectionRange);

/** What each result has to be. */
const RESULTS = {
  'textDocument/documentSymbol': listOf(types.DocumentSymbol.is),
  'workspace/symbol': listOf((v) => isText(v.name) && isCount(v.kind) && types.Location.is(v.location)),
  'textDocument/foldingRange': listOf(types.FoldingRange.is),
  'textDocument/selectionRange': listOf(types.SelectionRange.is),
  'textDocument/semanticTokens/full': types.SemanticTokens.is,
  'textDocument/semanticTokens/range': types.SemanticTokens.is,
  'textDocument/definition': orNull((v) => listOf(types.LocationLink.is)(v) || types.Location.is(v)),
  'textDocument/references': orNull(listOf(types.Location.is)),
  'textDocument/documentHighlight': orNull(listOf((v) => types.Range.is(v.range) && [1, 2, 3].includes(v.kind))),
  'textDocument/hover': orNull(types.Hover.is),
  'textDocument/completion': (v) =>
    typeof v.isIncomplete === 'boolean' &&
    v.items.every(
      (i) =>
        isText(i.label) &&
        (i.kind === undefined || (i.kind >= 1 && i.kind <= 25)) &&
        (i.textEdit === undefined || types.TextEdit.is(i.textEdit)),
    ),
  'completionItem/resolve': (v) => isText(v.label) && types.MarkupContent.is(v.documentation),
  'textDocument/signatureHelp': orNull(
    (v) =>
      isCount(v.activeSignature) &&
      isCount(v.activeParameter) &&
      v.signatures.every(
        (s) =>
          isText(s.label) &&
          s.parameters.every(
            (p) => isText(p.label) || (p.label.length === 2 && isCount(p.label[0]) && p.label[1] <= s.label.length),
          ),
      ),
  ),
  'textDocument/prepareRename': orNull((v) => types.Range.is(v.range) && isText(v.placeholder)),
  'textDocument/rename': orNull(types.WorkspaceEdit.is),
  'textDocument/inlayHint': listOf(types.InlayHint.is),
  'textDocument/codeLens': listOf(types.CodeLens.is),
  'textDocument/codeAction': listOf((v) => types.CodeAction.is(v)),
  'textDocument/formatting': orNull(listOf(types.TextEdit.is)),
  'textDocument/rangeFormatting': orNull(listOf(types.TextEdit.is)),
  'textDocument/onTypeFormatting': orNull(listOf(types.TextEdit.is)),
  'textDocument/prepareCallHierarchy': orNull(listOf(isCallItem)),
  'callHierarchy/incomingCalls': orNull(listOf((v) => isCallItem(v.from) && listOf(types.Range.is)(v.fromRanges))),
  'callHierarchy/outgoingCalls': orNull(listOf((v) => isCallItem(v.to) && listOf(types.Range.is)(v.fromRanges))),
};

const capabilities = {
  general: { positionEncodings: ['utf-16'] },
  workspace: { workspaceEdit: { documentChanges: true } },
  textDocument: {
    hover: { contentFormat: ['markdown'] },
    definition: { linkSupport: true },
    documentSymbol: { hierarchicalDocumentSymbolSupport: true },
    publishDiagnostics: { relatedInformation: true },
    completion: { completionItem: { documentationFormat: ['markdown'] } },
    signatureHelp: { signatureInformation: { parameterInformation: { labelOffsetSupport: true } } },
    codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ['quickfix'] } } },
  },
};

/** The place of the first occurrence of a text, some characters further. */
function at(part, into = 0) {
  const lines = text.slice(0, text.indexOf(part) + into).split('\n');
  return { line: lines.length - 1, character: lines[lines.length - 1].length };
}

async function check(connection, offered) {
  const asked = new Set();
  const request = async (method, params) => {
    const result = await connection.sendRequest(method, params);
    assert(RESULTS[method](result), `${method} answers with what is none of its types: ${JSON.stringify(result)}`);
    asked.add(method);
    return result;
  };
  const textDocument = { uri };
  const whole = { start: { line: 0, character: 0 }, end: { line: 99, character: 0 } };
  const options = { tabSize: 4, insertSpaces: true };
  const place = (part, into) => ({ textDocument, position: at(part, into) });

  assert((await request('textDocument/documentSymbol', { textDocument })).length === 3);
  assert((await request('workspace/symbol', { query: 'scl' })).length === 1);
  assert((await request('textDocument/foldingRange', { textDocument })).length >= 2);
  await request('textDocument/selectionRange', { textDocument, positions: [at('x * by')] });
  const tokens = (await request('textDocument/semanticTokens/full', { textDocument })).data;
  const legend = offered.semanticTokensProvider.legend;
  for (let i = 0; i < tokens.length; i += 5) {
    assert(tokens[i + 3] < legend.tokenTypes.length && tokens[i + 4] < 1 << legend.tokenModifiers.length);
    assert(i === 0 || tokens[i] > 0 || tokens[i + 1] >= tokens[i - 3], 'tokens overlap');
  }
  await request('textDocument/semanticTokens/range', { textDocument, range: whole });
  assert((await request('textDocument/definition', place('scaled(layernorm')))[0].targetUri === uri);
  const references = await request('textDocument/references', {
    ...place('scaled(x'),
    context: { includeDeclaration: true },
  });
  assert(references.length === 2);
  assert((await request('textDocument/documentHighlight', place('y = x'))).length === 2);
  assert((await request('textDocument/hover', place('gelu'))).contents.value.includes('tanh'));
  const { items } = await request('textDocument/completion', place('gelu(h)', 0));
  await request('completionItem/resolve', items.find((item) => item.label === 'rmsnorm'));
  assert((await request('textDocument/signatureHelp', place('by=0.5', 3))).activeParameter === 1);
  assert((await request('textDocument/prepareRename', place('y = x'))).placeholder === 'y');
  await request('textDocument/rename', { ...place('y = x'), newName: 'z' });
  assert((await request('textDocument/inlayHint', { textDocument, range: whole })).length === 4);
  assert((await request('textDocument/codeLens', { textDocument })).length === 5);
  await request('textDocument/formatting', { textDocument, options });
  await request('textDocument/rangeFormatting', { textDocument, range: whole, options });
  await request('textDocument/onTypeFormatting', { ...place('return y'), ch: '\n', options });
  const [item] = await request('textDocument/prepareCallHierarchy', place('scaled(x'));
  assert((await request('callHierarchy/incomingCalls', { item })).length === 1);
  await request('callHierarchy/outgoingCalls', { item });
  if (offered.codeActionProvider) {
    await request('textDocument/codeAction', { textDocument, range: whole, context: { diagnostics: [] } });
  } else {
    asked.add('textDocument/codeAction');
  }
  assert.deepStrictEqual(Object.keys(RESULTS).filter((method) => !asked.has(method)), []);
}

async function main() {
  const server = spawn(path.join(build, 'bin/tessera-lsp'), ['--stdio'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const connection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(server.stdout),
    new rpc.StreamMessageWriter(server.stdin),
  );
  const waiting = [];
  connection.onNotification('textDocument/publishDiagnostics', (params) => {
    assert(isText(params.uri) && Number.isInteger(params.version) && listOf(types.Diagnostic.is)(params.diagnostics));
    waiting.shift()?.(params.diagnostics);
  });
  const diagnostics = () => new Promise((resolve) => waiting.push(resolve));
  connection.onUnhandledNotification((message) => assert.fail(`a notification ${message.method}`));
  connection.listen();
  const root = { processId: process.pid, rootUri: null, capabilities };
  const { capabilities: offered, serverInfo } = await connection.sendRequest('initialize', root);
  assert(isText(serverInfo.name) && offered.positionEncoding === 'utf-16');
  await connection.sendNotification('initialized', {});
  let found = diagnostics();
  await connection.sendNotification('textDocument/didOpen', {
    textDocument: { uri, languageId: 'tessera', version: 1, text },
  });
  assert.deepStrictEqual(await found, []);
  await check(connection, offered);
  found = diagnostics();
  await connection.sendNotification('textDocument/didChange', {
    textDocument: { uri, version: 2 },
    contentChanges: [{ range: { start: at('gelu'), end: at('gelu', 4) }, text: 'gellu' }],
  });
  const [mistake] = await found;
  assert.strictEqual(mistake.code, 'unknown-name');
  await assert.rejects(connection.sendRequest('textDocument/nothing', {}), { code: -32601 });
  await connection.sendRequest('shutdown');
  await connection.sendNotification('exit');
  const status = await new Promise((resolve) => server.on('exit', resolve));
  assert.strictEqual(status, 0);
}

main().then(
  () => process.exit(0),
  (problem) => {
    console.error(problem);
    process.exit(1);
  },
);
