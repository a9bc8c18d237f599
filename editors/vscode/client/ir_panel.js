// A stage of the function at the cursor beside the source, as a read-only document. Where the cursor is in one of the two,
// the lines of the same place are marked in the other. The text is asked for again when the source is saved.

'use strict';
const vscode = require('vscode');
const { IrLinks, ranges } = require('./ir_links.js');

const SCHEME = 'tessera-ir';
const TITLES = { graph: 'Graph', schedule: 'Schedule', tile: 'Tile', target: 'Target', code: 'Code' };

class IrPanel {
  constructor(clientOf, settings) {
    this.clientOf = clientOf;
    this.settings = settings;
    this.views = new Map(); // by the text of their uri: {source, position, stage, text, links}
    this.changed = new vscode.EventEmitter();
    this.mark = vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      backgroundColor: new vscode.ThemeColor('editor.findMatchHighlightBackground'),
      overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.findMatchForeground'),
      overviewRulerLane: vscode.OverviewRulerLane.Center,
    });
    this.disposables = [
      this.mark,
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
        onDidChange: this.changed.event,
        provideTextDocumentContent: (uri) => this.views.get(uri.toString())?.text ?? '',
      }),
      vscode.window.onDidChangeTextEditorSelection((event) => this.follow(event.textEditor)),
      vscode.workspace.onDidSaveTextDocument((document) => this.refresh(document)),
      vscode.workspace.onDidCloseTextDocument((document) => this.views.delete(document.uri.toString())),
    ];
  }

  dispose() {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** Shows a stage; `place` is {uri, position} of a code lens, or nothing for the cursor. */
  async show(stage, place) {
    const editor = vscode.window.activeTextEditor;
    const source = place?.uri ? vscode.Uri.parse(place.uri) : editor?.document.uri;
    const position = place?.position ?? editor?.selection.active;
    if (!source || !position || (!place && editor.document.languageId !== 'tessera')) {
      vscode.window.showInformationMessage('Put the cursor into a function of a .tsr file first.');
      return;
    }
    const view = { source, position: { line: position.line, character: position.character }, stage };
    if (!(await this.load(view))) return;
    const file = source.path.split('/').at(-1);
    const uri = vscode.Uri.from({
      scheme: SCHEME,
      path: `/${view.name || file} · ${TITLES[stage]}.tir`,
      query: JSON.stringify([source.toString(), view.name, stage]),
    });
    const isOpen = this.views.has(uri.toString());
    this.views.set(uri.toString(), view);
    if (isOpen) this.changed.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, {
      viewColumn: vscode.ViewColumn.Beside,
      preserveFocus: true,
      preview: false,
    });
    if (editor) this.follow(editor);
  }

  /** Asks the server; false after the user was told why there is nothing. */
  async load(view) {
    const client = this.clientOf();
    if (!client) {
      vscode.window.showErrorMessage('tessera-lsp is not running.');
      return false;
    }
    try {
      const answer = await client.sendRequest('tessera/ir', {
        textDocument: { uri: view.source.toString() },
        position: view.position,
        stage: view.stage,
        target: this.settings().get('target') || undefined,
      });
      Object.assign(view, { name: answer.name, text: answer.text, links: new IrLinks(answer.lines) });
      return true;
    } catch (problem) {
      vscode.window.showErrorMessage(problem.message);
      return false;
    }
  }

  async refresh(document) {
    for (const [text, view] of this.views) {
      if (view.source.toString() === document.uri.toString() && (await this.load(view)))
        this.changed.fire(vscode.Uri.parse(text));
    }
  }

  /** Marks in all other editors in sight what belongs to the cursor's line in this one. */
  follow(editor) {
    const line = editor.selection.active.line,
      view = this.views.get(editor.document.uri.toString());
    const place = view ? view.links.sourceOf(line) : { uri: editor.document.uri.toString(), line };
    if (!view && editor.document.languageId !== 'tessera') return;
    for (const other of vscode.window.visibleTextEditors) {
      if (other === editor) {
        other.setDecorations(this.mark, []);
        continue;
      }
      const uri = other.document.uri.toString(),
        otherView = this.views.get(uri);
      let lines = [];
      if (place && otherView) lines = otherView.links.irOf(place.uri, place.line);
      else if (place && place.uri === uri) lines = [place.line];
      this.light(other, lines);
    }
  }

  light(editor, lines) {
    const marked = ranges(lines).map(([first, last]) => new vscode.Range(first, 0, last, 0));
    editor.setDecorations(this.mark, marked);
    const isInSight = marked.some((range) =>
      editor.visibleRanges.some((visible) => visible.intersection(range)),
    );
    if (marked.length && !isInSight) editor.revealRange(marked[0], vscode.TextEditorRevealType.InCenter);
  }
}

module.exports = { IrPanel, SCHEME };
