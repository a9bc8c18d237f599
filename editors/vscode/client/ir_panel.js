// A stage of the function at the cursor beside the source, as a read-only document. Where the cursor is in one of
// the two, the lines of the same place are marked in the other. The text is made again when the source is saved.

'use strict';
const vscode = require('vscode');
const { Inspections, pathOf } = require('./inspections.js');
const { programAt, stageOf } = require('./ir_model.js');
const { IrLinks, ranges } = require('./ir_links.js');

const SCHEME = 'tessera-ir';
const TITLES = { graph: 'Graph', schedule: 'Schedule', tile: 'Tile', target: 'Target', code: 'Code' };

class IrPanel {
  /** `compilerFor(file)` gives {compiler, args}, or null after the user was told why there is none. */
  constructor(compilerFor) {
    this.compilerFor = compilerFor;
    this.inspections = new Inspections();
    this.views = new Map(); // by the text of their uri: {source, line, stage, title, text, links}
    this.library = new Map(); // texts of files that are in the compiler alone, by the text of their uri
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
        provideTextDocumentContent: (uri) =>
          this.views.get(uri.toString())?.text ?? this.library.get(uri.toString()) ?? '',
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
    await vscode.window.showTextDocument(document, {
      viewColumn: vscode.ViewColumn.Beside,
      preserveFocus: true,
      preview: false,
    });
    const editor = vscode.window.visibleTextEditors.find((e) => e.document === source.document);
    if (editor) this.follow(editor, view.line);
  }

  /** The document and line that a command is about, saved; null after the user was told what is missing. */
  async sourceOf(place) {
    const editor = vscode.window.activeTextEditor;
    const document = place?.uri
      ? await vscode.workspace.openTextDocument(vscode.Uri.parse(place.uri))
      : editor?.document;
    if (document?.languageId !== 'tessera' || document.uri.scheme !== 'file') {
      vscode.window.showInformationMessage('Put the cursor into a function of a .tsr file first.');
      return null;
    }
    if (document.isDirty && !(await document.save())) return null;
    return { document, line: place?.position?.line ?? editor.selection.active.line };
  }

  /** Fills a view; false after the user was told why there is nothing. */
  async load(view) {
    const file = view.source.fsPath,
      tools = this.compilerFor(file);
    if (!tools) return false;
    try {
      const inspection = await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Window, title: 'Lowering' },
        () => this.inspections.of(tools.compiler, tools.args, file),
      );
      const program = programAt(inspection, view.line);
      const { text, lines } = program ? stageOf(inspection, program, view.stage) : { text: '', lines: [] };
      if (lines.length === 0) {
        vscode.window.showInformationMessage(`There is no ${TITLES[view.stage]} of this function.`);
        return false;
      }
      const uris = inspection.files.map((_, i) => this.uriOf(inspection, i, file));
      const places = lines.map((place) =>
        place && uris[place.file] ? { uri: uris[place.file], line: place.line } : null,
      );
      Object.assign(view, {
        title: `${program.name} ${TITLES[view.stage]} ${program.target.replace(':', ' ')}`,
        text,
        links: new IrLinks(places),
      });
      return true;
    } catch (problem) {
      vscode.window.showErrorMessage(problem.message);
      return false;
    }
  }

  /** Where a file of an inspection can be seen, as the text of a uri: on disk, or as a document of ours. */
  uriOf(inspection, index, file) {
    const name = pathOf(inspection, index, file);
    if (name) return vscode.Uri.file(name).toString();
    const { name: known, text } = inspection.files[index];
    if (text === undefined) return null;
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${known}`, query: '' }).toString();
    this.library.set(uri, text);
    return uri;
  }

  /** The place in the source of a line of IR. */
  placeIn(document, line) {
    const place = this.views.get(document.uri.toString())?.links.sourceOf(line);
    return place ? new vscode.Location(vscode.Uri.parse(place.uri), new vscode.Position(place.line, 0)) : null;
  }

  async refresh(document) {
    for (const [text, view] of this.views) {
      if (view.source.toString() === document.uri.toString() && (await this.load(view)))
        this.changed.fire(vscode.Uri.parse(text));
    }
  }

  /** Marks in all other editors in sight what belongs to the cursor's line in this one. */
  follow(editor, line = editor.selection.active.line) {
    const view = this.views.get(editor.document.uri.toString());
    if (!view && editor.document.languageId !== 'tessera') return;
    const place = view ? view.links.sourceOf(line) : { uri: editor.document.uri.toString(), line };
    for (const other of vscode.window.visibleTextEditors) {
      const uri = other.document.uri.toString(),
        otherView = this.views.get(uri);
      let lines = [];
      if (place && other !== editor && otherView) lines = otherView.links.irOf(place.uri, place.line);
      else if (place && other !== editor && place.uri === uri) lines = [place.line];
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
