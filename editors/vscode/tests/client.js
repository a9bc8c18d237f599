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

const { findProgram, run } = require('../client/programs.js');
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
  for (const name of ['text', '.'])
    assert.match(find('x', path.join(directory, name), '').problem, /which is no program/);
}

function testLinks() {
  const links = new IrLinks([null, { uri: 'a', line: 3 }, { uri: 'b', line: 3 }, { uri: 'a', line: 3 }]);
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

async function testModel(compiler) {
  const { Inspections, pathOf } = require('../client/inspections.js');
  const { programAt, stageOf } = require('../client/ir_model.js');
  const inspections = new Inspections();
  const inspection = await inspections.of(compiler, [example, '--target=cpu:x86-64-v3'], example);
  assert.strictEqual(
    inspections.of(compiler, [example, '--target=cpu:x86-64-v3'], example),
    inspections.known.get(example).promise,
  );
  const program = programAt(inspection, 5);
  assert.strictEqual(program.name, 'mlp');
  for (const [stage, word] of [
    ['graph', 'gir.gelu'],
    ['schedule', 'sched.dot'],
    ['tile', 'tile.fma'],
    ['target', 'target.fma'],
    ['code', 'vfmadd'],
  ]) {
    const { text, lines } = stageOf(inspection, program, stage),
      split = text.split('\n');
    assert.strictEqual(split.length, lines.length + 1);
    assert.ok(text.includes(word), `${stage} has no ${word}`);
    assert.ok(
      lines.some((place) => place && place.file === 0 && place.line === 5),
      `${stage} has no line of line 6`,
    );
  }
  const dump = (await run(compiler, [example, '--target=cpu:x86-64-v3', '--dump=graph'])).output;
  const shown = stageOf(inspection, program, 'graph');
  shown.text.split('\n').forEach((line, i) => {
    const place = shown.lines[i];
    const wanted = dump
      .split('\n')
      .find((other) => other.includes(line.replace(/^\s*%\w+: /, '')) && line.includes('gir.gemm'));
    if (wanted)
      assert.ok(wanted.endsWith(`loc("mlp.tsr":${place.line + 1}:${wanted.match(/:(\d+)\)$/)[1]})`), wanted);
  });
  assert.strictEqual(pathOf(inspection, 0, example), example);
  assert.strictEqual(
    pathOf(
      inspection,
      inspection.files.findIndex((file) => file.name === 'stdlib/matmul.tsr'),
      example,
    ),
    null,
  );
  const broken = path.join(folder, 'broken.tsr');
  fs.writeFileSync(broken, 'def f(\n');
  await assert.rejects(inspections.of(compiler, [broken], broken), /^Error: .*broken\.tsr:\d+|error/);
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
      this.isRunning = true;
    }
    async dispose() {
      this.isRunning = false;
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
  assert.match(vscode.shown.infos.join(), /cursor into a function/);
}

async function testExtension(compiler) {
  const vscode = standIn(settings({ serverPath: process.execPath, compilerPath: compiler })),
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
    clients.map((client) => client.isRunning),
    [false, true],
  );

  const document = {
    uri: vscode.Uri.file(example),
    languageId: 'tessera',
    isDirty: false,
    save: async () => true,
  };
  shown.documents = [document];
  const editor = (vscode.window.activeTextEditor = vscode.editorOf(document, 5));
  await shown.commands.get('tessera.showGraph')();
  assert.deepStrictEqual(shown.errors, []);
  const [ir] = shown.opened,
    text = ir.getText().split('\n');
  assert.ok(ir.uri.toString().includes('mlp Graph cpu x86-64-v3'));
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
  const library = shown.provider.provideTextDocumentContent(definition.uri).split('\n');
  assert.ok(library[definition.position.line].includes('tile.dot'), library[definition.position.line]);
  await shown.commands.get('tessera.openInspector')();
  assert.deepStrictEqual(shown.panels, [], 'nothing is opened where the question for sizes is left');
  vscode.sizes = 'B=8, D=768';
  await shown.commands.get('tessera.openInspector')();
  assert.match(shown.panels[0].webview.html, /^<!doctype html>\n<html lang="en" data-preset="dark">/);
  await shown.commands.get('tessera.compile')();
  assert.ok(fs.existsSync(path.join(folder, 'mlp.bundle')));
  await extension.deactivate();
  assert.deepStrictEqual(
    clients.map((client) => client.isRunning),
    [false, false],
  );
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

/** The server as the client starts it: what it says of a mistake, and where a name is. */
async function testServer(server) {
  const rpc = require('vscode-jsonrpc/node');
  const child = spawn(server, ['--stdio'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const connection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(child.stdout),
    new rpc.StreamMessageWriter(child.stdin),
  );
  const published = new Promise((done) =>
    connection.onNotification(
      'textDocument/publishDiagnostics',
      (params) => params.diagnostics.length && done(params),
    ),
  );
  connection.onRequest('client/registerCapability', () => null);
  connection.listen();
  const answer = await connection.sendRequest('initialize', {
    processId: process.pid,
    rootUri: null,
    capabilities: {},
    initializationOptions: { includePaths: [], commands: true },
  });
  assert.strictEqual(answer.serverInfo.name, 'tessera-lsp');
  await connection.sendNotification('initialized', {});
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
  await connection.sendRequest('shutdown');
  const ended = new Promise((done) => child.once('exit', done));
  await connection.sendNotification('exit');
  assert.strictEqual(await ended, 0);
  connection.dispose();
}

async function main() {
  testPrograms();
  testLinks();
  testBundle();
  await testAbsent();
  const compiler = built('tesserac'),
    server = built('tessera-lsp');
  if (compiler) {
    await testModel(compiler);
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
    },
  )
  .finally(() => fs.rmSync(folder, { recursive: true, force: true }));
