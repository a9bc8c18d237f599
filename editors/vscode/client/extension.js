// The extension's beginning: the language server, and commands around the compiler.

'use strict';
const path = require('path');
const vscode = require('vscode');
const { LanguageClient, TransportKind } = require('vscode-languageclient/node');
const { findProgram, pathOfSetting, run } = require('./programs.js');
const { IrPanel } = require('./ir_panel.js');
const { openInspector } = require('./inspector.js');

/** Commands for which the server gives texts. */
const STAGES = ['showGraph', 'showSchedule', 'showTile', 'showTarget', 'showCode'];

let client = null;

const settings = () => vscode.workspace.getConfiguration('tessera');

const folder = () => vscode.workspace.workspaceFolders?.[0]?.uri.fsPath || '';

/** Where a program is, by its setting or PATH: {file} or {problem}. */
function find(name, settingName) {
  return findProgram(name, {
    setting: settings().get(settingName),
    settingName: `tessera.${settingName}`,
    folder: folder(),
  });
}

/** The settings that the server gets: paths as they are on disk. */
function serverSettings() {
  return {
    includePaths: settings()
      .get('includePaths')
      .map((name) => pathOfSetting(name, folder())),
    defines: settings().get('defines'),
    target: settings().get('target'),
    sizes: settings().get('sizes'),
    compilerPath: find('tesserac', 'compilerPath').file,
  };
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

/** The compiler, and its arguments for a file from the settings; null after the user was told what is missing. */
function compilerFor(file) {
  const compiler = programFor('tesserac', 'compilerPath'),
    target = settings().get('target');
  const { includePaths, defines } = serverSettings();
  const folders = includePaths.flatMap((name) => ['-I', name]);
  const names = Object.entries(defines).flatMap(([name, value]) => ['-D', `${name}=${value}`]);
  return compiler && { compiler, args: [file, ...(target ? [`--target=${target}`] : []), ...folders, ...names] };
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
    initializationOptions: { ...serverSettings(), ownCommands: true },
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

/** The compiler for the file at hand, which is saved with all that it may import; null after the user was told what is missing. */
async function compilerForEditor() {
  const document = vscode.window.activeTextEditor?.document;
  if (document?.languageId !== 'tessera' || document.uri.scheme !== 'file') {
    vscode.window.showInformationMessage('Open a .tsr file first.');
    return null;
  }
  for (const open of vscode.workspace.textDocuments) {
    const isChanged = open.languageId === 'tessera' && open.uri.scheme === 'file' && open.isDirty;
    if (isChanged && !(await open.save())) return null;
  }
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
  const panel = new IrPanel((place) =>
    client.sendRequest('workspace/executeCommand', { command: 'tessera.lower', arguments: [place] }),
  );
  const commands = { restartServer, compile: () => compile(channel), openInspector: () => inspect(context) };
  for (const name of STAGES) {
    const show = (place) => panel.show(`tessera.${name}`, place);
    commands[name] = (place) => (client ? show(place) : programFor('tessera-lsp', 'serverPath'));
  }
  for (const [name, work] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(`tessera.${name}`, work));
  }
  context.subscriptions.push(
    channel,
    panel,
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('tessera.serverPath') || event.affectsConfiguration('tessera.serverArguments'))
        return restartServer();
      if (event.affectsConfiguration('tessera') && client?.isRunning())
        client.sendNotification('workspace/didChangeConfiguration', { settings: { tessera: serverSettings() } });
    }),
  );
  await startServer();
}

module.exports = { activate, deactivate: stopServer };
