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

/** A program by its setting, or null after the user was told why there is none. */
function programFor(name, settingName) {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath || '';
  const found = findProgram(name, {
    setting: settings().get(settingName),
    settingName: `tessera.${settingName}`,
    folder,
  });
  if (found.file) return found.file;
  vscode.window.showErrorMessage(found.problem, 'Open Settings').then((choice) => {
    if (choice) vscode.commands.executeCommand('workbench.action.openSettings', `tessera.${settingName}`);
  });
  return null;
}

async function startServer() {
  const command = programFor('tessera-lsp', 'serverPath');
  if (!command) return;
  client = new LanguageClient(
    'tessera',
    'Tessera',
    { command, args: settings().get('serverArguments'), transport: TransportKind.stdio },
    {
      documentSelector: [{ language: 'tessera' }],
      synchronize: {
        configurationSection: 'tessera',
        fileEvents: vscode.workspace.createFileSystemWatcher('**/*.tsr'),
      },
      initializationOptions: {
        includePaths: settings().get('includePaths'),
        target: settings().get('target'),
      },
    },
  );
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

/** The file at hand, saved, or null. */
async function savedFile() {
  const document = vscode.window.activeTextEditor?.document;
  if (document?.languageId !== 'tessera' || document.uri.scheme !== 'file') {
    vscode.window.showInformationMessage('Open a .tsr file first.');
    return null;
  }
  if (document.isDirty && !(await document.save())) return null;
  return document.uri.fsPath;
}

/** Arguments that a compile of a file has from the settings. */
function compilerArguments(file) {
  const target = settings().get('target');
  return [
    file,
    ...(target ? [`--target=${target}`] : []),
    ...settings()
      .get('includePaths')
      .flatMap((folder) => ['-I', folder]),
  ];
}

async function compile(channel) {
  const file = await savedFile(),
    compiler = file && programFor('tesserac', 'compilerPath');
  if (!compiler) return;
  const output = file.replace(/\.tsr$/, '') + '.bundle';
  channel.appendLine(`${compiler} ${path.basename(file)} -o ${path.basename(output)}`);
  const result = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: 'Compiling' },
    () => run(compiler, [...compilerArguments(file), '-o', output], { cwd: path.dirname(file) }),
  );
  channel.append(result.errors + result.output);
  if (result.code === 0) vscode.window.setStatusBarMessage(`$(check) ${path.basename(output)}`, 5000);
  else channel.show(true);
}

async function inspect(context) {
  const file = await savedFile(),
    compiler = file && programFor('tesserac', 'compilerPath');
  if (compiler) await openInspector(context, compiler, compilerArguments(file), file);
}

async function activate(context) {
  const channel = vscode.window.createOutputChannel('Tessera compiler');
  const panel = new IrPanel(() => client, settings);
  const commands = {
    restartServer: async () => {
      await stopServer();
      await startServer();
    },
    compile: () => compile(channel),
    openInspector: () => inspect(context),
  };
  for (const [name, stage] of Object.entries(STAGES)) commands[name] = (place) => panel.show(stage, place);
  for (const [name, work] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(`tessera.${name}`, work));
  }
  context.subscriptions.push(
    channel,
    panel,
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('tessera.serverPath')) commands.restartServer();
    }),
  );
  await startServer();
}

module.exports = { activate, deactivate: stopServer };
