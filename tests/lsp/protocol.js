// A client made of the protocol's own packages from npm. Every message of the server is checked field by field against
// the types of LSP 3.17 for its method and direction (protocol_schemas.js), and its content for what a user of the
// editor sees. That the check can fail is shown with each message: mutants of it have to be refused.
// Usage: node protocol.js BUILD_DIR NODE_MODULES   exits with 77, which counts as skipped, where the packages are missing

'use strict';
const assert = require('assert');
const { spawn } = require('child_process');
const fs = require('fs');
const path = require('path');
const { protocolChecker } = require('./protocol_schemas.js');

const [build, modules] = process.argv.slice(2).map((name) => path.resolve(name));
let rpc, protocol, check;
try {
  rpc = require(path.join(modules, 'vscode-jsonrpc/node'));
  protocol = require(path.join(modules, 'vscode-languageserver-protocol/node'));
  check = protocolChecker(modules);
} catch (problem) {
  if (problem.code !== 'MODULE_NOT_FOUND') throw problem;
  console.log(`skipped: ${problem.message.split('\n')[0]} (tools/setup.sh --editors)`);
  process.exit(77);
}

const uri = 'file:///protocol/model.tsr';
const text = fs.readFileSync(path.join(__dirname, 'model.tsr'), 'utf8').replace('gelu(h)', 'gelu(h) + sum(h, 1, True)');

const DIRECTIONS = new Map(
  Object.values(protocol)
    .filter((type) => typeof type?.method === 'string' && type.messageDirection)
    .map((type) => [type.method, type.messageDirection]),
);

/** What the server sent, in words where it is wrong; of each kind of message the longest one is kept. */
class Watch {
  constructor() {
    this.problems = [];
    this.asked = new Map(); // methods of requests in flight, by id
    this.kinds = new Map(); // by 'result METHOD' or 'params METHOD': [part, method, value]
  }

  read(message) {
    const { jsonrpc, id, method, params, result, error, ...rest } = message;
    if (jsonrpc !== '2.0' || Object.keys(rest).length) return this.refuse('is no message', message);
    if (method !== undefined) {
      const isOurs = ['serverToClient', 'both'].includes(DIRECTIONS.get(method)) || method.startsWith('$/');
      if (!isOurs || 'result' in message || 'error' in message) return this.refuse('is not for a client', message);
      return this.compare('params', method, params, message);
    }
    const asked = this.asked.get(id);
    this.asked.delete(id);
    if (asked === undefined || 'params' in message) return this.refuse('answers nothing', message);
    if ('result' in message === 'error' in message) return this.refuse('has not one of result and error', message);
    if ('result' in message) return this.compare('result', asked, result, message);
    const { code, message: words, data, ...more } = error;
    if (!Number.isInteger(code) || typeof words !== 'string' || Object.keys(more).length)
      this.refuse('has an error that is none', message);
  }

  compare(part, method, value, message) {
    const problem = check(part, method, value);
    if (problem) this.refuse(problem, message);
    const kind = `${part} ${method}`,
      length = (json) => JSON.stringify(json ?? null).length;
    if (length(value) > length(this.kinds.get(kind)?.[2])) this.kinds.set(kind, [part, method, value]);
  }

  refuse(problem, message) {
    this.problems.push(`${problem}: ${JSON.stringify(message).slice(0, 400)}`);
  }
}

/** Values with one thing wrong somewhere, each with its path. */
function* mutants(value, at = '') {
  if (Number.isInteger(value)) yield [at, -7.5];
  if (typeof value === 'string') yield [at, { unknown: 1 }];
  if (typeof value === 'boolean') yield [at, -7.5];
  if (value === null || typeof value !== 'object') return;
  if (!Array.isArray(value)) yield [`${at}/unknown`, { ...value, unknown: 1 }];
  for (const [key, part] of Object.entries(value)) {
    for (const [where, mutant] of mutants(part, `${at}/${Array.isArray(value) ? '*' : key}`)) {
      yield [where, Array.isArray(value) ? Object.assign([...value], { [key]: mutant }) : { ...value, [key]: mutant }];
    }
  }
}

/** Where a type takes anything. */
const OPEN = [
  /^result initialize\/unknown$/,
  /^result textDocument\/codeLens.*\/command\/arguments\//,
  /^result (textDocument\/completion.*|completionItem\/resolve)\/data/,
  /^result .*allHierarchy.*\/data/,
  /^params client\/registerCapability\/registrations\/\*\/registerOptions/,
];

function testThatTheCheckCanFail(watch) {
  let refused = 0;
  for (const [kind, [part, method, value]] of watch.kinds) {
    const known = new Set();
    for (const [where, mutant] of mutants(value)) {
      if (known.has(where) || OPEN.some((open) => open.test(kind + where))) continue;
      known.add(where);
      assert(check(part, method, mutant), `${kind}: ${where} may be ${JSON.stringify(mutant)?.slice(0, 200)}`);
      refused++;
    }
  }
  assert(refused > 300, `${refused} mutants are few`);
}

const capabilities = {
  general: { positionEncodings: ['utf-16'] },
  workspace: {
    workspaceEdit: { documentChanges: true },
    inlayHint: { refreshSupport: true },
    didChangeWatchedFiles: { dynamicRegistration: true },
  },
  textDocument: {
    hover: { contentFormat: ['markdown'] },
    definition: { linkSupport: true },
    documentSymbol: { hierarchicalDocumentSymbolSupport: true },
    publishDiagnostics: { relatedInformation: true },
    completion: { completionItem: { documentationFormat: ['markdown'], snippetSupport: true } },
    signatureHelp: { signatureInformation: { parameterInformation: { labelOffsetSupport: true } } },
    codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ['quickfix'] } } },
  },
};

/** The place of the first occurrence of a text, some characters further. */
function at(part, into = 0) {
  const lines = text.slice(0, text.indexOf(part) + into).split('\n');
  return { line: lines.length - 1, character: lines[lines.length - 1].length };
}

/** One of each request that the server offers an answer to. */
async function askEverything(connection, offered) {
  const request = (method, params) => connection.sendRequest(method, params);
  const textDocument = { uri };
  const whole = { start: { line: 0, character: 0 }, end: { line: 99, character: 0 } };
  const options = { tabSize: 4, insertSpaces: true };
  const place = (part, into) => ({ textDocument, position: at(part, into) });

  assert((await request('textDocument/documentSymbol', { textDocument })).length === 4);
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
}

/** An edit that makes an error, a word in the place of another, and what the server then says and knows to mend. */
async function makeErrors(connection, diagnostics) {
  let version = 1;
  const edit = async (part, word) => {
    const found = diagnostics();
    await connection.sendNotification('textDocument/didChange', {
      textDocument: { uri, version: ++version },
      contentChanges: [{ range: { start: at(part), end: at(part, part.length) }, text: word }],
    });
    return found;
  };
  const [found] = await edit('gelu', 'gell');
  assert.strictEqual(found.code, 'unknown-name');
  const context = { diagnostics: [found] };
  const params = { textDocument: { uri }, range: found.range, context };
  assert((await connection.sendRequest('textDocument/codeAction', params)).length === 1);
  await edit('gelu', 'gelu');
  const [mismatch] = await edit('layernorm(x)', 'x @ x');
  assert(mismatch.relatedInformation.length > 0, 'a shape that does not fit names no place that it comes from');
}

async function main() {
  const watch = new Watch();
  class Reader extends rpc.StreamMessageReader {
    listen(callback) {
      return super.listen((message) => {
        watch.read(message);
        callback(message);
      });
    }
  }
  class Writer extends rpc.StreamMessageWriter {
    write(message) {
      if (message.method && message.id !== undefined) watch.asked.set(message.id, message.method);
      return super.write(message);
    }
  }
  const server = spawn(path.join(build, 'bin/tessera-lsp'), ['--stdio'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const connection = rpc.createMessageConnection(new Reader(server.stdout), new Writer(server.stdin));
  const waiting = [];
  connection.onNotification('textDocument/publishDiagnostics', ({ diagnostics }) => waiting.shift()?.(diagnostics));
  connection.onRequest('client/registerCapability', () => null);
  connection.onRequest('workspace/inlayHint/refresh', () => null);
  const diagnostics = () => new Promise((resolve) => waiting.push(resolve));
  connection.onUnhandledNotification((message) => assert.fail(`a notification ${message.method}`));
  connection.listen();
  const root = { processId: process.pid, rootUri: null, capabilities };
  const { capabilities: offered } = await connection.sendRequest('initialize', root);
  assert(offered.positionEncoding === 'utf-16');
  await connection.sendNotification('initialized', {});
  const found = diagnostics();
  await connection.sendNotification('textDocument/didOpen', {
    textDocument: { uri, languageId: 'tessera', version: 1, text },
  });
  assert.deepStrictEqual(await found, []);
  await askEverything(connection, offered);
  await makeErrors(connection, diagnostics);
  await assert.rejects(connection.sendRequest('textDocument/nothing', {}), { code: -32601 });
  await connection.sendRequest('shutdown');
  await connection.sendNotification('exit');
  const status = await new Promise((resolve) => server.on('exit', resolve));
  assert.strictEqual(status, 0);
  assert.deepStrictEqual(watch.problems, []);
  for (const method of ['client/registerCapability', 'textDocument/publishDiagnostics'])
    assert(watch.kinds.has(`params ${method}`), `the server sent no ${method}`);
  testThatTheCheckCanFail(watch);
  console.log(`checked ${watch.kinds.size} kinds of messages`);
}

main().then(
  () => process.exit(0),
  (problem) => {
    console.error(problem);
    process.exit(1);
  },
);
