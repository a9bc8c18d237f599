// The stages side by side. Lines that come from one place are highlighted together.
//
// A line of a kernel belongs to its kernel: `acc = tile.dot(…)` of the standard library is in every
// matmul, and only the lines of the current kernel are highlighted. The launches of the kernel are
// marked, too, in the host program, in the graph and in the source. A line of the source or of the
// graph highlights everything that comes from it, and marks the kernels it launches.

const STAGES = [
  { id: 'source', title: 'Source', help: 'The source, and the parts of the library that it uses' },
  { id: 'graph', title: 'Graph', help: 'Ops on whole tensors' },
  { id: 'schedule', title: 'Schedule', help: 'Kernels and their tiles, and the program that launches them' },
  { id: 'tile', title: 'Tile', help: 'Each tile in loads, arithmetic and stores, with loops and memory' },
  { id: 'target', title: 'Target', help: 'Instructions of the target, on registers of any number' },
  { id: 'code', title: 'Assembly', help: 'Assembly code of the machine' },
];

/** Are two selections, or none, the same line and column of the same kernel? */
const isSame = (a, b) =>
  a === b || (a && b && a.key === b.key && a.column === b.column && a.unit === b.unit && a.pane === b.pane);

class CodeView {
  constructor(root, inspection, onStatus) {
    Object.assign(this, { root, inspection, onStatus });
    this.columnsOfKey = new Map();
    for (let n = 1; n <= inspection.places.length / 4; n++) {
      const place = inspection.place(n);
      if (!this.columnsOfKey.has(place.key)) this.columnsOfKey.set(place.key, []);
      this.columnsOfKey.get(place.key).push(place);
    }
    for (const places of this.columnsOfKey.values()) places.sort((a, b) => a.column - b.column);
    this.hovered = null;
    this.pinned = null;
    this.build();
  }

  build() {
    this.kernel = el('select', { id: 'kernel', onchange: () => this.showKernel(this.kernel.value) });
    const chips = el('div', { class: 'chips', role: 'group', 'aria-label': 'Stages shown' });
    this.panes = STAGES.map((stage) => this.makePane(stage));
    for (const pane of this.panes) chips.append(pane.chip);
    this.search = el('input', {
      type: 'search',
      id: 'find',
      placeholder: 'Find in all listings',
      'aria-label': 'Find in all listings',
      'aria-keyshortcuts': '/',
      oninput: () => this.find(this.search.value),
      onkeydown: (event) => this.searchKey(event),
    });
    this.strip = el('div', { class: 'strip' }, ...this.panes.map((pane) => pane.element));
    this.root.append(
      el(
        'div',
        { class: 'toolbar' },
        chips,
        el('label', { class: 'choice', for: 'kernel', title: 'Shows one kernel alone' }, 'Kernel ', this.kernel),
        this.search,
      ),
      this.strip,
    );
  }

  makePane(stage) {
    const pane = { stage, isWanted: true, marks: new Map() };
    pane.language = stage.id === 'source' ? 'source' : stage.id === 'code' ? 'code' : 'ir';
    pane.listing = new Listing(stage.title, {
      draw: (node, line, text, isFirst) => this.drawRow(pane, node, line, text, isFirst),
      mark: (line) =>
        ['', 'near', 'hit', 'exact'][pane.marks.get(line) || (this.nearUnits?.has(pane.doc.units[line]) ? 1 : 0)],
      onCursor: (line, how, event) => this.onCursor(pane, line, how, event),
      onSide: (step) => this.focusBeside(pane, step),
      wraps: pane.language === 'ir',
    });
    pane.ruler = el('canvas', {
      class: 'ruler',
      'aria-hidden': true,
      onclick: (event) => this.jump(pane, event),
    });
    pane.title = el('h2', { title: stage.help }, stage.title);
    pane.size = el('span', { class: 'muted' });
    pane.found = el('span', { class: 'found', title: 'Highlighted lines' });
    pane.before = el(
      'button',
      {
        class: 'icon',
        'aria-label': `Previous highlighted line in ${stage.title}`,
        title: 'To the previous highlighted line (p)',
        onclick: () => this.step(pane, -1),
      },
      '↑',
    );
    pane.after = el(
      'button',
      {
        class: 'icon',
        'aria-label': `Next highlighted line in ${stage.title}`,
        title: 'To the next highlighted line (n)',
        onclick: () => this.step(pane, 1),
      },
      '↓',
    );
    pane.nav = el('span', { class: 'nav' }, pane.found, pane.before, pane.after);
    const widen = el(
      'button',
      {
        class: 'icon',
        'aria-label': `${stage.title} wide`,
        'aria-pressed': 'false',
        title: 'Wide enough for most lines, or as before',
        onclick: () => this.widen(pane, widen),
      },
      '⇔',
    );
    const head = el('header', {}, pane.title, pane.size, pane.nav, widen);
    if (stage.id === 'source') {
      this.file = el('select', {
        'aria-label': 'File',
        onchange: () => this.showFile(Number(this.file.value)),
      });
      this.inspection.fileTexts.forEach(
        (text, i) => text && this.file.append(el('option', { value: i }, this.inspection.files[i].name)),
      );
      pane.size.replaceWith(this.file);
    }
    pane.empty = el('p', { class: 'empty' });
    pane.element = el(
      'section',
      { class: `pane stage-${stage.id}`, 'aria-label': stage.title },
      head,
      el('div', { class: 'sheet' }, pane.listing.element, pane.ruler, pane.empty),
    );
    pane.chip = el(
      'button',
      { class: `chip stage-${stage.id}`, 'aria-pressed': 'true', onclick: () => this.toggle(pane) },
      stage.title,
    );
    new ResizeObserver(() => this.drawRuler(pane)).observe(pane.ruler);
    return pane;
  }

  toggle(pane) {
    pane.isWanted = !pane.isWanted;
    this.showPane(pane);
  }

  /** A stage that the program never was at has no listing. */
  showPane(pane) {
    const isEmpty = pane.doc.length === 0 && pane.stage.id !== 'source';
    pane.isShown = pane.isWanted && !isEmpty;
    pane.chip.disabled = isEmpty;
    const { title, help } = pane.stage;
    pane.chip.title = !isEmpty ? help : title === 'Graph' ? 'A kernel has none' : 'There are no kernels';
    pane.chip.setAttribute('aria-pressed', pane.isShown);
    pane.element.hidden = !pane.isShown;
  }

  widen(pane, button) {
    const isWide = pane.element.classList.toggle('wide');
    pane.element.style.width = '';
    button.setAttribute('aria-pressed', isWide);
    if (isWide) pane.element.scrollIntoView({ inline: 'nearest', block: 'nearest' });
  }

  /** Another program: an entry, or a kernel that stands for itself, for one target. */
  show(program) {
    this.program = program;
    const kernels = this.inspection
      .unitsAfter(program, program.states.length - 1)
      .map((unit) => unit.name)
      .filter((name) => name !== program.name || program.level !== 'graph');
    this.kernel.replaceChildren(
      el('option', { value: '' }, 'all'),
      ...kernels.map((name) => el('option', { value: name }, this.inspection.titleOf(name))),
    );
    this.fill();
  }

  showKernel(name) {
    this.kernel.value = name;
    this.fill();
    this.onMove?.();
  }

  pane(id) {
    return this.panes.find((pane) => pane.stage.id === id);
  }

  fill() {
    const { inspection, program } = this,
      only = this.kernel.value;
    const code = inspection.codeOf(program);
    this.pane('code').title.textContent = this.pane('code').chip.textContent =
      code?.kind === 'ptx' ? 'PTX' : 'Assembly';
    for (const pane of this.panes) {
      let units = [];
      if (pane.stage.id === 'code') units = code ? code.units : [];
      else if (pane.stage.id !== 'source') {
        const state = inspection.lastStateAt(program, pane.stage.id);
        if (state >= 0) units = inspection.unitsAfter(program, state);
      }
      const chosen = only && pane.stage.id !== 'graph' ? units.filter((unit) => unit.name === only) : units;
      if (pane.stage.id !== 'source') this.setDocument(pane, new Document(inspection, chosen));
    }
    const all = new Document(
      inspection,
      inspection.unitsAfter(program, program.states.length - 1).filter((unit) => unit.name === program.name),
    );
    this.launches = all.launches();
    this.pinned = this.hovered = this.lit = null;
    this.showFile(0);
  }

  setDocument(pane, doc) {
    pane.doc = doc;
    pane.marks = new Map();
    pane.listing.setLines(doc);
    pane.size.textContent = doc.length ? count(doc.length, 'line') : '';
    pane.empty.textContent = doc.length ? '' : 'No source is at hand.';
    this.showPane(pane);
  }

  showFile(file) {
    if (!this.inspection.fileTexts[file]) file = this.inspection.fileTexts.findIndex((text) => text);
    this.shownFile = file;
    this.file.value = file;
    const pane = this.pane('source');
    this.setDocument(pane, file < 0 ? new Document(this.inspection, []) : Document.ofSource(this.inspection, file));
    this.light(this.hovered || this.pinned);
  }

  drawRow(pane, node, line, text, isFirst) {
    const gutter = el('span', { class: 'gutter', 'aria-hidden': true }, isFirst ? line + 1 : '');
    const body = el('span', { class: 'body' }, coloured(text, pane.language));
    if (pane.stage.id === 'source' && isFirst) this.addSpot(body, pane.doc.keys[line], text);
    node.append(gutter, body);
  }

  /** A rule below the words of the place at hand. */
  addSpot(body, key, text) {
    const lit = this.lit;
    if (!lit || lit.key !== key || !lit.column) return;
    const place = this.columnsOfKey.get(key)?.find((p) => p.column === lit.column);
    if (!place) return;
    const from = indexOfByte(text, place.column - 1),
      to = Math.max(from + 1, indexOfByte(text, place.column - 1 + place.length));
    const spot = el('span', { class: 'spot', 'aria-hidden': true });
    spot.style.left = `${from}ch`;
    spot.style.width = `${to - from}ch`;
    body.append(spot);
  }

  onCursor(pane, line, how, event) {
    const selected = line < 0 ? null : this.selectionAt(pane, line, event);
    if (how === 'pin') {
      this.pinned = isSame(this.pinned, selected) ? null : selected;
      this.hovered = null;
      this.light(this.pinned);
      if (this.pinned) this.follow(pane);
      this.onMove?.();
      return;
    }
    const hovered = selected && selected.key >= 0 ? selected : null;
    if (isSame(hovered, this.hovered)) return;
    this.hovered = hovered;
    this.light(this.hovered || this.pinned);
  }

  selectionAt(pane, line, event) {
    const key = pane.doc.keys[line];
    let column = pane.doc.columns[line];
    if (pane.stage.id === 'source') column = event ? this.columnAt(pane, key, line, event) : 0;
    const unit = pane.doc.units[line];
    return {
      key,
      column,
      unit: unit === this.program.name && this.program.level === 'graph' ? null : unit,
      pane: pane.stage.id,
    };
  }

  /** Of the places on a line of the source the last one that begins before the pointer. */
  columnAt(pane, key, line, event) {
    const row = pane.listing.shown.get(pane.listing.firstRow[line])?.querySelector('.body');
    if (!row || !row.firstChild) return 0;
    this.charWidth ??= this.measure(row);
    const index = Math.floor((event.clientX - row.getBoundingClientRect().left) / this.charWidth);
    const text = pane.doc.text(line);
    const at = (this.columnsOfKey.get(key) || []).filter((place) => indexOfByte(text, place.column - 1) <= index);
    return index < text.length && at.length ? at.at(-1).column : 0;
  }

  measure(row) {
    const probe = el('span', {}, '0'.repeat(100));
    row.append(probe);
    const width = probe.getBoundingClientRect().width / 100;
    probe.remove();
    return width;
  }

  /** Lights up what belongs to a selection; null puts all lights out. */
  light(selection) {
    this.lit = selection;
    const related = this.relatedTo(selection);
    this.nearUnits = related.units;
    for (const pane of this.panes) this.lightPane(pane, selection, related);
    this.pane('source').listing.redraw();
    this.announce(selection);
  }

  /**
   * What belongs to a selection besides the lines of its place. `units` are the kernels that its line launches, `below`
   * lines of functions that it calls; `launches` are keys of what launches its kernel, `above` lines by whose calls it
   * is run.
   */
  relatedTo(selection) {
    const none = { units: new Set(), below: new Set(), launches: new Set(), above: new Set() };
    if (!selection || (selection.key < 0 && !selection.unit)) return none;
    if (selection.unit) {
      const keys = this.launches
        .filter((launch) => launch.kernels.includes(selection.unit))
        .map((launch) => launch.key);
      const above = [selection.key, ...keys].flatMap((key) => [...this.inspection.linesCalling(key)]);
      return { ...none, launches: new Set(keys), above: new Set(above) };
    }
    const below = this.inspection.linesCalledBy(selection.key);
    const started = this.launches.filter((launch) => launch.key === selection.key || below.has(launch.key));
    return {
      ...none,
      units: new Set(started.flatMap((launch) => launch.kernels)),
      below,
      above: this.inspection.linesCalling(selection.key),
    };
  }

  lightPane(pane, selection, related) {
    pane.marks = selection?.find
      ? this.marksOfText(pane, selection.find)
      : this.marksOfPlace(pane, selection, related);
    pane.hits = this.hitsOf(pane);
    const isIdle = !selection || pane.hits.length === 0;
    pane.found.textContent = isIdle ? '' : pane.hits.length.toLocaleString('en');
    pane.nav.classList.toggle('idle', isIdle);
    pane.listing.refresh();
    this.drawRuler(pane);
  }

  marksOfText(pane, find) {
    const marks = new Map();
    pane.doc.texts.forEach((text, line) => text.toLowerCase().includes(find) && marks.set(line, 2));
    return marks;
  }

  /** By line: 1 what belongs to the selection, 2 its line, 3 its line and column. */
  marksOfPlace(pane, selection, related) {
    const marks = new Map();
    if (!selection) return marks;
    const { key, column, unit } = selection,
      { doc } = pane;
    const isSource = pane.stage.id === 'source',
      isPlain = isSource || pane.stage.id === 'graph';
    const near = [...related.below, ...(isPlain ? related.launches : []), ...(isSource ? related.above : [])];
    for (const other of near) doc.linesOf(other).forEach((line) => marks.set(line, 1));
    for (const launch of isPlain ? [] : doc.launches()) {
      if (unit && launch.kernels.includes(unit)) marks.set(launch.line, 1);
    }
    for (const line of key >= 0 ? doc.linesOf(key) : []) {
      if (!isPlain && unit && doc.units[line] !== unit) continue;
      marks.set(line, column > 0 && (isSource || doc.columns[line] === column) ? 3 : 2);
    }
    return marks;
  }

  /** Lines to go to: those of the place, else those that belong to it, else the first of each kernel that does. */
  hitsOf({ marks, doc }) {
    const lines = (least) =>
      [...marks]
        .filter(([, mark]) => mark >= least)
        .map(([line]) => line)
        .sort((a, b) => a - b);
    const hits = [lines(2), lines(1)].find((some) => some.length > 0);
    return hits || doc.units.flatMap((unit, i) => (this.nearUnits.has(unit) && unit !== doc.units[i - 1] ? [i] : []));
  }

  /** Lights up all lines with a text, whatever its case, until a line is pinned. */
  find(text) {
    this.pinned = text.trim() ? { find: text.trim().toLowerCase(), key: -1, column: 0, unit: null } : null;
    this.hovered = null;
    this.light(this.pinned);
    if (this.pinned) this.follow(null);
  }

  searchKey(event) {
    if (event.key === 'Enter') {
      if (!this.pinned?.find) this.find(this.search.value);
      for (const pane of this.panes) this.step(pane, event.shiftKey ? -1 : 1);
    } else if (event.key === 'Escape') {
      this.search.value = '';
      this.find('');
      this.search.blur();
    } else return;
    event.preventDefault();
  }

  /** Says in words what is lit. */
  announce(selection) {
    if (!selection || (selection.key < 0 && !selection.find)) return this.onStatus(null);
    const counts = this.panes
      .filter((pane) => pane.isShown && (selection.find || pane.stage.id !== 'source'))
      .map((pane) => [pane.title.textContent, [...pane.marks.values()].filter((mark) => mark > 1).length]);
    if (selection.find) return this.onStatus({ place: `“${selection.find}”`, text: '', counts });
    const file = Math.floor(selection.key / 0x100000),
      line = selection.key % 0x100000;
    const text = this.inspection.fileTexts[file]?.[line - 1];
    this.onStatus({
      place: `${this.inspection.files[file].name}:${line}${selection.column ? ':' + selection.column : ''}`,
      text: text ? text.trim() : '',
      counts,
      isPinned: selection === this.pinned,
    });
  }

  /** Pins a line of the entry's function in the graph. */
  pinGraph(line) {
    const pane = this.pane('graph'),
      at = pane.doc.units.indexOf(this.program.name) + line;
    this.onCursor(pane, at, 'pin');
    pane.listing.scrollToLine(at);
  }

  /** What a link says of this view: a kernel, and the line that is pinned as FILE:LINE. */
  state() {
    const { key } = this.pinned || { key: -1 };
    const place = key < 0 ? '' : `${this.inspection.files[Math.floor(key / 0x100000)].name}:${key % 0x100000}`;
    return { kernel: this.kernel.value, line: place };
  }

  restore({ kernel, line }) {
    const isKnown = [...this.kernel.options].some((option) => option.value === kernel);
    if (kernel && isKnown) this.showKernel(kernel);
    const [, name, number] = /^(.*):(\d+)$/.exec(line || '') || [];
    const file = this.inspection.files.findIndex((known) => known.name === name);
    if (file < 0 || !this.inspection.fileTexts[file]) return;
    this.showFile(file);
    this.onCursor(this.pane('source'), Number(number) - 1, 'pin');
    this.pane('source').listing.scrollToLine(Math.min(Number(number), this.pane('source').doc.length) - 1);
  }

  /** Brings the lines that a pin has lit into sight. */
  follow(from) {
    const file = Math.floor(this.pinned.key / 0x100000);
    if (
      this.pinned.key >= 0 &&
      from.stage.id !== 'source' &&
      file !== this.shownFile &&
      this.inspection.fileTexts[file]
    )
      this.showFile(file);
    for (const pane of this.panes) {
      if (pane === from || pane.hits.length === 0) continue;
      const rows = pane.hits.map((line) => pane.listing.firstRow[line]);
      if (!rows.some((row) => pane.listing.isInSight(row))) pane.listing.scrollTo(rows[0]);
    }
  }

  /** To the next highlighted line of a listing, round the end. */
  step(pane, by) {
    if (!pane.hits?.length) return;
    const rows = pane.hits.map((line) => pane.listing.firstRow[line]);
    const at =
      pane.listing.cursor >= 0 && pane.listing.isInSight(pane.listing.cursor)
        ? pane.listing.cursor
        : pane.listing.firstRowInSight() + by * -1;
    const next =
      by > 0 ? (rows.find((row) => row > at) ?? rows[0]) : (rows.findLast((row) => row < at) ?? rows.at(-1));
    pane.listing.cursor = next;
    pane.listing.scrollTo(next);
    pane.listing.refresh();
  }

  focusBeside(pane, by) {
    const shown = this.panes.filter((p) => p.isShown && p.doc.length);
    const next = shown[shown.indexOf(pane) + by];
    next?.listing.element.focus();
    next?.element.scrollIntoView({ inline: 'nearest', block: 'nearest' });
  }

  /** The whole text at a glance: where lines are lit. */
  drawRuler(pane) {
    const { ruler, doc } = pane,
      height = ruler.clientHeight,
      width = ruler.clientWidth,
      scale = devicePixelRatio || 1;
    if (!height || !doc) return;
    ruler.height = height * scale;
    ruler.width = width * scale;
    const paint = ruler.getContext('2d'),
      style = getComputedStyle(ruler),
      rows = pane.listing.length;
    paint.scale(scale, scale);
    const scaleY = height / Math.max(rows, height / ROW),
      levels = new Uint8Array(Math.ceil(height) + 1);
    const raise = (line, level) => {
      const y = Math.floor(pane.listing.firstRow[line] * scaleY);
      if (levels[y] < level) levels[y] = level;
    };
    if (this.nearUnits?.size) doc.units.forEach((unit, i) => this.nearUnits.has(unit) && raise(i, 1));
    for (const [line, mark] of pane.marks) raise(line, mark);
    const colours = ['', '--near', '--hit-edge', '--accent'].map((name) => name && style.getPropertyValue(name));
    levels.forEach((level, y) => {
      if (level === 0) return;
      paint.fillStyle = colours[level];
      paint.fillRect(level === 1 ? width - 4 : 2, y, level === 1 ? 4 : width - 2, 2);
    });
  }

  jump(pane, event) {
    const part = event.offsetY / pane.ruler.clientHeight;
    pane.listing.element.scrollTop =
      part * Math.max(pane.listing.length * ROW, pane.ruler.clientHeight) - pane.ruler.clientHeight / 2;
  }

  key(event) {
    if (event.key === 'Escape' && this.pinned) {
      this.pinned = null;
      this.light(this.hovered);
    } else if (event.key === '/') this.search.focus();
    else if (event.key === 'n' || event.key === 'p') {
      const pane = this.panes.find((p) => p.element.contains(document.activeElement)) || this.panes[0];
      this.step(pane, event.key === 'n' ? 1 : -1);
    } else return false;
    return true;
  }
}
