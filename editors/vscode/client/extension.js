// The extension's beginning: the language server, and commands around the compiler.

'use strict';
const path = require('path');
const vscode = require('vscode');
const { LanguageClient, TransportKind } = require('vscode-languageclient/node');
const { findProgram, run } = require('./programs.js');
const { IrPanel } = require('./ir_panel.js');
const { openInspector } = require('./inspector.js');

const STAGES = {
  showGraph: 'graph',
  showSchedule: 'schedule',
  showTile: 'tile',
  showTarget: 'target',
  showCode: 'code',
};

let client = null;

const settings = () => vscode.workspace.getConfiguration('tessera');

/** Where a program is, by its setting or PATH: {file} or {problem}. */
function find(name, settingName) {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath || '';
  return findProgram(name, { setting: settings().get(settingName), settingName: `tessera.${settingName}`, folder });
}

/** A program, or null after the user was told why there is none. */
function programFor(name, settingName) {
  const found = find(name, settingName);
  if (found.file) return found.file;
  vscode.window.showErrorMessage(found.problem, 'Open Settings').then((choice) => {
    if (choice) vscode.commands.executeCommand('workbench.action.openSettings', `tessera.${settingName}`);
  });
  return null;
}

/** The compiler, and what the settings tell it of a file; null after the user was told what is missing. */
function compilerFor(file) {
  const compiler = programFor('tesserac', 'compilerPath'),
    target = settings().get('target');
  const folders = settings()
    .get('includePaths')
    .flatMap((folder) => ['-I', folder]);
  return compiler && { compiler, args: [file, ...(target ? [`--target=${target}`] : []), ...folders] };
}

async function startServer() {
  const command = programFor('tessera-lsp', 'serverPath');
  if (!command) return;
  const server = { command, args: settings().get('serverArguments'), transport: TransportKind.stdio };
  client = new LanguageClient('tessera', 'Tessera', server, {
    documentSelector: [
      { language: 'tessera', scheme: 'file' },
      { language: 'tessera', scheme: 'untitled' },
    ],
    synchronize: { configurationSection: 'tessera' },
    initializationOptions: {
      includePaths: settings().get('includePaths'),
      compilerPath: find('tesserac', 'compilerPath').file,
    },
  });
  try {
    await client.start();
  } catch (problem) {
    vscode.window.showErrorMessage(`${command} does not start: ${problem.message}`);
  }
}

async function stopServer() {
  const old = client;
  client = null;
  await old?.dispose();
}

async function restartServer() {
  await stopServer();
  await startServer();
}

/** The compiler for the file at hand, which is saved; null after the user was told what is missing. */
async function compilerForEditor() {
  const document = vscode.window.activeTextEditor?.document;
  if (document?.languageId !== 'tessera' || document.uri.scheme !== 'file') {
    vscode.window.showInformationMessage('Open a .tsr file first.');
    return null;
  }
  if (document.isDirty && !(await document.save())) return null;
  const tools = compilerFor(document.uri.fsPath);
  return tools && { ...tools, file: document.uri.fsPath };
}

async function compile(channel) {
  const tools = await compilerForEditor();
  if (!tools) return;
  const bundle = tools.file.replace(/\.tsr$/, '') + '.bundle';
  channel.appendLine(`tesserac ${path.basename(tools.file)} -o ${path.basename(bundle)}`);
  const result = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: 'Compiling' },
    () => run(tools.compiler, [...tools.args, '-o', bundle], { cwd: path.dirname(tools.file) }),
  );
  channel.append(result.errors + result.output);
  if (result.code === 0) vscode.window.setStatusBarMessage(`$(check) ${path.basename(bundle)}`, 5000);
  else channel.show(true);
}

async function inspect(context) {
  const tools = await compilerForEditor();
  if (tools) await openInspector(context, tools);
}

async function activate(context) {
  const channel = vscode.window.createOutputChannel('Tessera compiler');
  const panel = new IrPanel(compilerFor);
  const commands = { restartServer, compile: () => compile(channel), openInspector: () => inspect(context) };
  for (const [name, stage] of Object.entries(STAGES)) commands[name] = (place) => panel.show(stage, place);
  for (const [name, work] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(`tessera.${name}`, work));
  }
  context.subscriptions.push(
    channel,
    panel,
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('tessera.serverPath') || event.affectsConfiguration('tessera.serverArguments'))
        restartServer();
    }),
  );
  await startServer();
}

module.exports = { activate, deactivate: stopServer };
