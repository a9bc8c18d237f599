// The lowering inspector's page in a panel.

'use strict';
const fs = require('fs');
const path = require('path');
const vscode = require('vscode');
const { firstMessage, run } = require('./programs.js');

/** The page begins with the colours of the editor; its own switch may change them. */
function withTheme(page, isDark) {
  return page.replace('<html lang="en">', `<html lang="en" data-preset="${isDark ? 'dark' : 'light'}">`);
}

/** Asks for the sizes of dimensions that figures and pictures are for; undefined where the user thinks better of it. */
async function askForSizes(context, file) {
  const key = `sizes ${file}`;
  const sizes = await vscode.window.showInputBox({
    title: 'Lowering inspector',
    prompt: 'Sizes that kernels and memory are shown for; without any they are formulas',
    placeHolder: 'B=8, S=256',
    value: context.workspaceState.get(key, ''),
    validateInput: (text) =>
      /^\s*(\w+\s*=\s*\d+\s*(,\s*|$))*$/.test(text) ? null : 'Names and numbers, as B=8, S=256',
  });
  if (sizes !== undefined) context.workspaceState.update(key, sizes);
  return sizes?.replace(/\s+/g, '').replace(/,$/, '');
}

async function openInspector(context, { compiler, args, file }) {
  const sizes = await askForSizes(context, file);
  if (sizes === undefined) return;
  await fs.promises.mkdir(context.globalStorageUri.fsPath, { recursive: true });
  const name = path.basename(file),
    page = path.join(context.globalStorageUri.fsPath, 'inspector.html');
  const result = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: `Lowering ${name}` },
    () =>
      run(compiler, [...args, ...(sizes ? ['--dims', sizes] : []), '--inspect', page], { cwd: path.dirname(file) }),
  );
  if (result.code !== 0) {
    vscode.window.showErrorMessage(firstMessage(result.errors, compiler));
    return;
  }
  const panel = vscode.window.createWebviewPanel(
    'tessera.inspector',
    `Lowering of ${name}`,
    vscode.ViewColumn.Active,
    { enableScripts: true, enableFindWidget: true, retainContextWhenHidden: true, localResourceRoots: [] },
  );
  const { kind } = vscode.window.activeColorTheme;
  const isDark = kind === vscode.ColorThemeKind.Dark || kind === vscode.ColorThemeKind.HighContrast;
  panel.webview.html = withTheme(await fs.promises.readFile(page, 'utf8'), isDark);
}

module.exports = { openInspector, withTheme };
