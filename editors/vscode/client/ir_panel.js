// A stage of the function at the cursor beside the source, as a read-only document. Where the cursor is in one of
// the two, the lines of the same place are marked in the other. The text is made again when a source of it is saved.

'use strict';
const vscode = require('vscode');
const { firstMessage } = require('./programs.js');
const { IrLinks, ranges } = require('./ir_links.js');

const SCHEME = 'tessera-ir';
const TITLES = {
  'tessera.showGraph': 'Graph IR',
  'tessera.showSchedule': 'Schedule IR',
  'tessera.showTile': 'Tile IR',
  'tessera.showTarget': 'Target IR',
};
const titleOf = (stage, target) => TITLES[stage] || (target.startsWith('cuda') ? 'PTX' : 'Assembly');

class IrPanel {
  /** `lower({uri, position, stage})` gives {function, target, text, lines}, as the server does (docs/editors.md). */
  constructor(lower) {
    this.lower = lower;
    this.views = new Map(); // by the text of their uri: {source, line, stage, title, text, links}
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
      vscode.languages.registerDefinitionProvider(
        { scheme: SCHEME },
        {
          provideDefinition: (document, position) => this.placeIn(document, position.line),
        },
      ),
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
    const source = await this.sourceOf(place);
    if (!source) return;
    const view = { source: source.document.uri, line: source.line, stage };
    if (!(await this.load(view))) return;
    const query = JSON.stringify([view.source.toString(), view.title]);
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${view.title}.tir`, query });
    const isOpen = this.views.has(uri.toString());
    this.views.set(uri.toString(), view);
    if (isOpen) this.changed.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    const shown = await vscode.window.showTextDocument(document, {
      viewColumn: vscode.ViewColumn.Beside,
      preserveFocus: true,
      preview: false,
    });
    const first = view.links.first();
    if (first > 0) shown.revealRange(new vscode.Range(first, 0, first, 0));
    const editor = vscode.window.visibleTextEditors.find((e) => e.document === source.document);
    if (editor) this.follow(editor, view.line);
  }

  /** The document and line that a command is about; null after the user was told what is missing. */
  async sourceOf(place) {
    const editor = vscode.window.activeTextEditor;
    const document = place?.uri
      ? await vscode.workspace.openTextDocument(vscode.Uri.parse(place.uri))
      : editor?.document;
    if (document?.languageId !== 'tessera') {
      vscode.window.showInformationMessage('Put the cursor into a function of a .tsr file first.');
      return null;
    }
    return { document, line: place?.position?.line ?? editor.selection.active.line };
  }

  /** Fills a view; false after the user was told why there is nothing. */
  async load(view) {
    const place = {
      uri: view.source.toString(),
      position: { line: view.line, character: 0 },
      stage: view.stage,
    };
    try {
      const { function: name, target, text, lines } = await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Window, title: 'Lowering' },
        () => this.lower(place),
      );
      const title = `${name} ${titleOf(view.stage, target)} ${target.replace(':', ' ')}`;
      Object.assign(view, { title: title.trim(), text, links: new IrLinks(lines) });
      return true;
    } catch (problem) {
      vscode.window.showErrorMessage(firstMessage(problem.message, 'tesserac'));
      return false;
    }
  }

  /** The place in the source of a line of IR. */
  placeIn(document, line) {
    const place = this.views.get(document.uri.toString())?.links.sourceOf(line);
    return place ? new vscode.Location(vscode.Uri.parse(place.uri), new vscode.Position(place.line, 0)) : null;
  }

  async refresh(document) {
    const source = document.uri.toString();
    for (const [text, view] of this.views) {
      const concerns = view.source.toString() === source || view.links.isFrom(source);
      if (concerns && (await this.load(view))) this.changed.fire(vscode.Uri.parse(text));
    }
  }

  /** Marks what belongs to the cursor's line: of a source in its IR, of IR in the sources in sight. */
  follow(editor, line = editor.selection.active.line) {
    const view = this.views.get(editor.document.uri.toString());
    if (!view && editor.document.languageId !== 'tessera') return;
    const place = view ? view.links.sourceOf(line) : { uri: editor.document.uri.toString(), line };
    for (const other of vscode.window.visibleTextEditors) {
      const uri = other.document.uri.toString(),
        otherView = this.views.get(uri);
      let lines = [];
      if (place && other !== editor && otherView) lines = otherView.links.irOf(place.uri, place.line);
      else if (view && place && other !== editor && place.uri === uri) lines = [place.line];
      this.light(other, lines);
    }
  }

  light(editor, lines) {
    const marked = ranges(lines).map(([first, last]) => new vscode.Range(first, 0, last, 0));
    editor.setDecorations(this.mark, marked);
    const isInSight = marked.some((range) => editor.visibleRanges.some((visible) => visible.intersection(range)));
    if (marked.length && !isInSight) editor.revealRange(marked[0], vscode.TextEditorRevealType.InCenter);
  }
}

module.exports = { IrPanel, SCHEME };
