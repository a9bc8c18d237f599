// The client without an editor: its own parts by themselves, the extension in a stand-in for the editor, and the real
// compiler and server where they are built (in the folder that TESSERA_BIN names, or build/bin).

'use strict';
const assert = require('assert');
const fs = require('fs');
const Module = require('module');
const os = require('os');
const path = require('path');
const { spawn } = require('child_process');

const root = path.resolve(__dirname, '../../..');
const bin = process.env.TESSERA_BIN || path.join(root, 'build/bin');
const built = (name) => fs.existsSync(path.join(bin, name)) && path.join(bin, name);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tessera-client-'));
const example = path.join(folder, 'mlp.tsr');
fs.writeFileSync(
  example,
  `from tessera.nn import rmsnorm_safe, gelu
const F = 3072

@jit
def mlp(x: Tensor[B, D, bf16 @accum(f32)], w_in: Tensor[D, F, bf16], w_out: Tensor[F, D, bf16]) -> Tensor[B, D, bf16]:
    h = gelu(rmsnorm_safe(x) @ w_in)
    return x + h @ w_out
`,
);

const { findProgram, firstMessage, pathOfSetting, run } = require('../client/programs.js');
const { IrLinks, ranges } = require('../client/ir_links.js');

function testPrograms() {
  const directory = path.join(folder, 'bin'),
    file = path.join(directory, 'tool');
  fs.mkdirSync(directory);
  fs.writeFileSync(file, '#!/bin/sh\n', { mode: 0o755 });
  fs.writeFileSync(path.join(directory, 'text'), '', { mode: 0o644 });
  const find = (name, setting, searchPath) =>
    findProgram(name, { setting, settingName: 'tessera.toolPath', folder, searchPath });
  assert.deepStrictEqual(find('tool', '', `/nowhere:${directory}`), { file });
  assert.deepStrictEqual(find('tool', '${workspaceFolder}/bin/tool', ''), { file });
  assert.deepStrictEqual(find('tool', 'bin/tool', ''), { file });
  assert.match(find('tool', '', '/nowhere').problem, /tool is not in PATH.*tessera\.toolPath/);
  assert.match(find('tool', '/nowhere/tool', directory).problem, /tessera\.toolPath names \/nowhere\/tool/);
  assert.strictEqual(pathOfSetting('${workspaceFolder}/lib', '/home/me'), '/home/me/lib');
  assert.strictEqual(pathOfSetting('lib', '/home/me'), '/home/me/lib');
  assert.strictEqual(pathOfSetting('/lib', '/home/me'), '/lib');
  const errors = '/home/me/f.tsr:3:11: error: dimension 1 is 768 [shape-mismatch]\n    3 |     y = x @ w\n';
  assert.strictEqual(firstMessage(errors, 'tesserac'), 'f.tsr:3: dimension 1 is 768');
  assert.strictEqual(firstMessage('killed\n', 'tesserac'), 'killed');
  assert.strictEqual(firstMessage('', 'tesserac'), 'tesserac ended without a word');
  for (const name of ['text', '.'])
    assert.match(find('x', path.join(directory, name), '').problem, /which is no program/);
}

function testLinks() {
  const links = new IrLinks([null, { uri: 'a', line: 3 }, { uri: 'b', line: 3 }, { uri: 'a', line: 3 }]);
  assert.deepStrictEqual(['a', 'b', 'c'].map((uri) => links.isFrom(uri)), [true, true, false]);
  assert.deepStrictEqual(links.irOf('a', 3), [1, 3]);
  assert.deepStrictEqual(links.irOf('a', 4), []);
  assert.strictEqual(links.sourceOf(0), null);
  assert.deepStrictEqual(links.sourceOf(2), { uri: 'b', line: 3 });
  assert.deepStrictEqual(ranges([1, 2, 3, 7, 9, 10]), [
    [1, 3],
    [7, 7],
    [9, 10],
  ]);
  assert.deepStrictEqual(ranges([]), []);
}

/** A connection to a server of its own, as the editor's client makes it. */
async function connect(server, initializationOptions) {
  const rpc = require('vscode-jsonrpc/node');
  const child = spawn(server, ['--stdio'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, XDG_CACHE_HOME: path.join(folder, 'cache') },
  });
  const connection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(child.stdout),
    new rpc.StreamMessageWriter(child.stdin),
  );
  connection.onRequest('client/registerCapability', () => null);
  connection.listen();
  const root = { processId: process.pid, rootUri: null, capabilities: {}, initializationOptions };
  const answer = await connection.sendRequest('initialize', root);
  await connection.sendNotification('initialized', {});
  return { connection, answer, child };
}

async function disconnect({ connection, child }) {
  await connection.sendRequest('shutdown');
  const ended = new Promise((done) => child.once('exit', done));
  await connection.sendNotification('exit');
  assert.strictEqual(await ended, 0);
  connection.dispose();
}

/** What the panel shows, as the server gives it. */
async function testStages(server, compiler) {
  const session = await connect(server, { compilerPath: compiler, target: 'cpu:x86-64-v3' });
  const uri = `file://${example}`,
    libraries = new Set();
  for (const [stage, word] of [
    ['Graph', 'gir.gelu'],
    ['Schedule', 'sched.dot'],
    ['Tile', 'tile.fma'],
    ['Target', 'target.fma'],
    ['Code', 'vfmadd'],
  ]) {
    const place = { uri, position: { line: 5, character: 0 }, stage: `tessera.show${stage}` };
    const shown = await session.connection.sendRequest('workspace/executeCommand', {
      command: 'tessera.lower',
      arguments: [place],
    });
    assert.strictEqual(shown.function, 'mlp');
    assert.strictEqual(shown.text.split('\n').length, shown.lines.length + 1);
    assert.ok(shown.text.includes(word), `${stage} has no ${word}`);
    assert.ok(
      shown.lines.some((line) => line && line.uri === uri && line.line === 5),
      `${stage} has no line of line 6`,
    );
    for (const line of shown.lines) if (line && line.uri !== uri) libraries.add(line.uri);
  }
  assert.ok([...libraries].some((name) => name.endsWith('/matmul.tsr')));
  for (const name of libraries) assert.ok(fs.existsSync(new URL(name)), name);
  await disconnect(session);
}

/** The part of the editor that the extension uses. What it is asked to show is kept. */
function standIn(config) {
  const shown = {
    errors: [],
    infos: [],
    opened: [],
    marks: new Map(),
    panels: [],
    commands: new Map(),
    listeners: {},
  };
  const event = (name) => (listener) => {
    (shown.listeners[name] ??= []).push(listener);
    return { dispose() {} };
  };
  class Emitter {
    event = () => ({ dispose() {} });
    fire() {}
    dispose() {}
  }
  const uri = (text, more = {}) => ({
    toString: () => text,
    scheme: text.split(':')[0],
    path: text.replace(/^\w+:\/*/, '/'),
    fsPath: text.replace(/^file:\/\//, ''),
    ...more,
  });
  const vscode = {
    shown,
    Emitter,
    EventEmitter: Emitter,
    Range: class {
      constructor(a, b, c, d) {
        Object.assign(this, { start: { line: a, character: b }, end: { line: c, character: d } });
      }
      intersection() {}
    },
    Position: class {
      constructor(line, character) {
        Object.assign(this, { line, character });
      }
    },
    Location: class {
      constructor(uri, position) {
        Object.assign(this, { uri, position });
      }
    },
    languages: {
      registerDefinitionProvider: (_, provider) => {
        shown.definitions = provider;
        return { dispose() {} };
      },
    },
    ThemeColor: class {},
    OverviewRulerLane: { Center: 2 },
    TextEditorRevealType: { InCenter: 1 },
    ViewColumn: { Beside: -2, Active: -1 },
    ProgressLocation: { Window: 10, Notification: 15 },
    ColorThemeKind: { Light: 1, Dark: 2, HighContrast: 3 },
    Uri: {
      parse: (text) => uri(text),
      file: (name) => uri(`file://${name}`),
      from: (parts) => uri(`${parts.scheme}:${parts.path}?${parts.query}`),
    },
    commands: {
      registerCommand: (name, work) => {
        shown.commands.set(name, work);
        return { dispose() {} };
      },
      executeCommand() {},
    },
    workspace: {
      workspaceFolders: undefined,
      getConfiguration: () => ({ get: (key) => config[key] }),
      registerTextDocumentContentProvider: (scheme, provider) => {
        shown.provider = provider;
        return { dispose() {} };
      },
      get textDocuments() {
        return shown.documents || [];
      },
      onDidSaveTextDocument: event('save'),
      onDidCloseTextDocument: event('close'),
      onDidChangeConfiguration: event('configuration'),
      openTextDocument: async (which) =>
        shown.documents?.find((d) => d.uri.toString() === which.toString()) || {
          uri: which,
          languageId: 'tessera-ir',
          getText: () => shown.provider.provideTextDocumentContent(which),
        },
    },
    window: {
      activeColorTheme: { kind: 2 },
      visibleTextEditors: [],
      createOutputChannel: () => ({
        appendLine() {},
        append: (text) => shown.infos.push(text),
        show() {},
        dispose() {},
      }),
      createTextEditorDecorationType: () => ({ dispose() {} }),
      onDidChangeTextEditorSelection: event('selection'),
      showErrorMessage: async (text) => {
        shown.errors.push(text);
      },
      showInformationMessage: async (text) => {
        shown.infos.push(text);
      },
      setStatusBarMessage: (text) => shown.infos.push(text),
      withProgress: (_, work) => work(),
      showInputBox: async () => vscode.sizes,
      createWebviewPanel: (id, name) => {
        const panel = { name, webview: {} };
        shown.panels.push(panel);
        return panel;
      },
      showTextDocument: async (document) => {
        const editor = vscode.editorOf(document);
        shown.opened.push(document);
        return editor;
      },
    },
    editorOf(document, line = 0) {
      const editor = {
        document,
        selection: { active: { line, character: 0 } },
        visibleRanges: [],
        revealRange: (range) => {
          editor.revealed = range;
        },
        setDecorations: (_, marked) => {
          editor.marked = marked.map((range) => [range.start.line, range.end.line]);
        },
      };
      vscode.window.visibleTextEditors = vscode.window.visibleTextEditors
        .filter((e) => e.document !== document)
        .concat(editor);
      return editor;
    },
  };
  return vscode;
}

/** Loads the extension anew, with `vscode` and the language client replaced. */
function loadExtension(vscode, clients) {
  class LanguageClient {
    constructor(id, name, server, options) {
      Object.assign(this, { server, options });
      clients.push(this);
    }
    async start() {
      this.started = true;
    }
    async dispose() {
      this.started = false;
      if (this.session) await disconnect(this.session);
    }
    async sendRequest(method, params) {
      this.session ??= await connect(built('tessera-lsp'), this.options.initializationOptions);
      return this.session.connection.sendRequest(method, params);
    }
    isRunning() {
      return this.started;
    }
    sendNotification(...message) {
      this.told = message;
    }
  }
  const load = Module._load;
  Module._load = (request, ...rest) =>
    request === 'vscode'
      ? vscode
      : request === 'vscode-languageclient/node'
        ? { LanguageClient, TransportKind: { stdio: 0 } }
        : load(request, ...rest);
  try {
    for (const name of Object.keys(require.cache)) if (name.includes('/client/')) delete require.cache[name];
    return require('../client/extension.js');
  } finally {
    Module._load = load;
  }
}

const settings = (more) => ({
  serverPath: '',
  serverArguments: [],
  compilerPath: '',
  target: 'cpu:x86-64-v3',
  includePaths: [],
  defines: {},
  sizes: { B: 8 },
  ...more,
});

async function testAbsent() {
  const vscode = standIn(settings({ serverPath: '/nowhere/tessera-lsp' })),
    clients = [];
  const extension = loadExtension(vscode, clients);
  await extension.activate({
    subscriptions: [],
    workspaceState: { get: (_, value) => value, update() {} },
    globalStorageUri: { fsPath: folder },
  });
  assert.deepStrictEqual(clients, []);
  assert.match(vscode.shown.errors.join(), /tessera\.serverPath names \/nowhere\/tessera-lsp, which is no program/);
  const declared = JSON.parse(fs.readFileSync(path.join(__dirname, '../package.json')))
    .contributes.commands.map((c) => c.command)
    .sort();
  assert.deepStrictEqual([...vscode.shown.commands.keys()].sort(), declared);
  await vscode.shown.commands.get('tessera.showGraph')();
  assert.strictEqual(vscode.shown.errors.length, 2, 'without a server a stage is not shown, and the user is told why');
}

async function testExtension(compiler) {
  const config = settings({ serverPath: process.execPath, compilerPath: compiler }),
    vscode = standIn(config),
    clients = [],
    { shown } = vscode;
  const extension = loadExtension(vscode, clients);
  await extension.activate({
    subscriptions: [],
    workspaceState: { get: (_, value) => value, update() {} },
    globalStorageUri: { fsPath: folder },
  });
  assert.strictEqual(clients.length, 1);
  assert.strictEqual(clients[0].server.command, process.execPath);
  await shown.commands.get('tessera.restartServer')();
  assert.deepStrictEqual(
    clients.map((client) => client.started),
    [false, true],
  );

  vscode.workspace.workspaceFolders = [{ uri: vscode.Uri.file(folder) }];
  for (const name of ['lib', 'more']) fs.mkdirSync(path.join(folder, name));
  Object.assign(config, { includePaths: ['${workspaceFolder}/lib', 'more'], defines: { SIZE: 'small' } });
  shown.listeners.configuration.forEach((listener) => listener({ affectsConfiguration: (name) => name === 'tessera' }));
  assert.deepStrictEqual(clients[1].told, [
    'workspace/didChangeConfiguration',
    {
      settings: {
        tessera: {
          includePaths: [path.join(folder, 'lib'), path.join(folder, 'more')],
          defines: { SIZE: 'small' },
          target: 'cpu:x86-64-v3',
          sizes: { B: 8 },
          compilerPath: compiler,
        },
      },
    },
  ]);

  await shown.commands.get('tessera.showGraph')();
  assert.match(shown.infos.join(), /cursor into a function/);
  const document = {
    uri: vscode.Uri.file(example),
    languageId: 'tessera',
    isDirty: false,
    save: async () => true,
  };
  const broken = { ...document, uri: vscode.Uri.file(path.join(folder, 'broken.tsr')) };
  fs.writeFileSync(broken.uri.fsPath, 'def f(\n');
  shown.documents = [document, broken];
  const editor = (vscode.window.activeTextEditor = vscode.editorOf(document, 5));
  await shown.commands.get('tessera.showGraph')();
  assert.deepStrictEqual(shown.errors, []);
  const [ir] = shown.opened,
    text = ir.getText().split('\n');
  assert.ok(ir.uri.toString().includes('mlp Graph IR cpu x86-64-v3'));
  const irEditor = vscode.window.visibleTextEditors.find((e) => e.document === ir);
  const marked = irEditor.marked.flatMap(([a, b]) => text.slice(a, b + 1));
  assert.ok(
    marked.some((line) => line.includes('gir.gelu')) && marked.every((line) => !line.includes('gir.add')),
    marked.join('\n'),
  );
  assert.ok(irEditor.revealed);
  irEditor.selection.active.line = text.findIndex((line) => line.includes('gir.add'));
  shown.listeners.selection.forEach((listener) => listener({ textEditor: irEditor }));
  assert.deepStrictEqual(editor.marked, [[6, 6]]);
  const second = { ...editor, document: { ...document }, marked: null };
  second.setDecorations = (_, marked) => (second.marked = marked);
  vscode.window.visibleTextEditors.push(second);
  shown.listeners.selection.forEach((listener) => listener({ textEditor: editor }));
  assert.deepStrictEqual(second.marked, [], 'a source is marked from its IR, not from another view of itself');
  assert.deepStrictEqual(editor.marked, []);
  vscode.window.visibleTextEditors.pop();

  await shown.commands.get('tessera.showTarget')({
    uri: document.uri.toString(),
    position: { line: 6, character: 0 },
  });
  assert.ok(shown.opened[1].getText().includes('target.'));
  const product = shown.opened[1]
    .getText()
    .split('\n')
    .findIndex((line) => line.includes('target.fma'));
  const definition = shown.definitions.provideDefinition(shown.opened[1], { line: product });
  const library = fs.readFileSync(definition.uri.fsPath, 'utf8').split('\n');
  assert.ok(library[definition.position.line].includes('tile.dot'), library[definition.position.line]);
  await shown.commands.get('tessera.showGraph')({ uri: broken.uri.toString(), position: { line: 0, character: 4 } });
  assert.match(shown.errors.pop(), /^broken\.tsr:1: \w/);
  let saved = 0;
  Object.assign(broken, { isDirty: true, save: async () => ((broken.isDirty = false), ++saved) });
  await shown.commands.get('tessera.openInspector')();
  assert.strictEqual(saved, 1, 'other files are saved before a compiler reads them');
  assert.deepStrictEqual(shown.panels, [], 'nothing is opened where the question for sizes is left');
  vscode.sizes = 'B=8, D=768';
  await shown.commands.get('tessera.openInspector')();
  assert.match(shown.panels[0].webview.html, /^<!doctype html>\n<html lang="en" data-preset="dark">/);
  await shown.commands.get('tessera.compile')();
  assert.ok(fs.existsSync(path.join(folder, 'mlp.bundle')));
  await extension.deactivate();
  assert.deepStrictEqual(
    clients.map((client) => client.started),
    [false, false],
  );
}

/** The README has all commands and settings, and none besides. */
function testReadme() {
  const { commands, configuration } = require('../package.json').contributes;
  const readme = fs.readFileSync(path.join(__dirname, '../README.md'), 'utf8');
  const rows = (pattern) => [...readme.matchAll(pattern)].map((match) => match[1]);
  assert.deepStrictEqual(
    rows(/^\| \*(.+)\* \|/gm),
    commands.map((command) => command.title),
  );
  assert.deepStrictEqual(rows(/^\| `(tessera\.[\w.]+)` \|/gm), Object.keys(configuration.properties));
  assert.match(readme, new RegExp(`tessera-${require('../package.json').version}\\.vsix`));
}

/** The bundle needs nothing but the editor and Node. */
function testBundle() {
  const built = require('esbuild').buildSync({
    entryPoints: [path.join(__dirname, '../client/extension.js')],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    target: 'node18',
    external: ['vscode'],
    metafile: true,
    logLevel: 'error',
  });
  const outside = Object.values(built.metafile.outputs).flatMap((output) =>
    output.imports.map((other) => other.path),
  );
  assert.deepStrictEqual(
    outside.filter((name) => name !== 'vscode' && !Module.isBuiltin(name)),
    [],
  );
  assert.ok(outside.includes('vscode'));
}

/** The server as the client starts it: what it says of an error, and where a name is. */
async function testServer(server) {
  const session = await connect(server, { includePaths: [] }),
    { connection, answer } = session;
  const published = new Promise((done) =>
    connection.onNotification(
      'textDocument/publishDiagnostics',
      (params) => params.diagnostics.length && done(params),
    ),
  );
  assert.strictEqual(answer.serverInfo.name, 'tessera-lsp');
  const uri = `file://${path.join(folder, 'typed.tsr')}`;
  const text = '@jit\ndef f(x: Tensor[N, f32]) -> Tensor[N, f32]:\n    return y + 1.0\n';
  await connection.sendNotification('textDocument/didOpen', {
    textDocument: { uri, languageId: 'tessera', version: 1, text },
  });
  assert.match((await published).diagnostics[0].message, /y/);
  const symbols = await connection.sendRequest('textDocument/documentSymbol', { textDocument: { uri } });
  assert.strictEqual(symbols[0].name, 'f');
  const document = { textDocument: { uri } };
  const lenses = await connection.sendRequest('textDocument/codeLens', document);
  const commands = require('../package.json').contributes.commands.map((command) => command.command);
  assert.ok(lenses.length >= 5);
  for (const { command } of lenses) {
    assert.ok(commands.includes(command.command), `the client has no ${command.command}`);
    assert.strictEqual(command.arguments[0].uri, uri);
    assert.strictEqual(command.arguments[0].position.line, 1);
  }
  const edits = await connection.sendRequest('textDocument/formatting', {
    ...document,
    options: { tabSize: 4, insertSpaces: true },
  });
  assert.deepStrictEqual(edits, [], 'a text in the style is not changed');
  await disconnect(session);
}

async function main() {
  testPrograms();
  testLinks();
  testBundle();
  testReadme();
  await testAbsent();
  const compiler = built('tesserac'),
    server = built('tessera-lsp');
  if (compiler && server) {
    await testStages(server, compiler);
    await testExtension(compiler);
  }
  if (server) await testServer(server);
  const missing = [compiler ? '' : 'tesserac', server ? '' : 'tessera-lsp'].filter(Boolean);
  console.log(
    missing.length
      ? `client: done without ${missing.join(' and ')}, not built in ${bin}`
      : 'client: done with compiler and server',
  );
}

const limit = setTimeout(() => {
  console.error('the client took more than 120 s');
  process.exit(1);
}, 120000);
main()
  .then(
    () => clearTimeout(limit),
    (problem) => {
      console.error(problem);
      process.exitCode = 1;
      clearTimeout(limit);
      setTimeout(() => process.exit(), 1000); // a server that still runs would keep it
    },
  )
  .finally(() => fs.rmSync(folder, { recursive: true, force: true }));
