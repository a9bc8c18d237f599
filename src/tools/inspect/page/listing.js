// A long text of which only the rows in sight are in the page. Rows have one height. A long line takes several rows, of
// which all but a few are folded away until they are asked for; where a listing wraps, a row is as long as it is wide.

const ROW = 18,
  OVERSCAN = 10,
  MOST_COLUMNS = 150,
  LEAST_COLUMNS = 40,
  INDENTED = 6, // columns, of all rows of a line but the first
  FOLDED_COLUMNS = 450; // of a line, beyond which rows are folded away

/** Where a line is cut into rows of so many columns, after commas and spaces. */
function cuts(text, columns) {
  const out = [0];
  if (text.length <= columns) return out;
  for (let at = 0; text.length - at > (at ? columns - INDENTED : columns); ) {
    const room = at ? columns - INDENTED : columns;
    let cut = Math.max(text.lastIndexOf(', ', at + room - 2) + 2, at);
    if (cut <= at + room * 0.7) cut = Math.max(text.lastIndexOf(' ', at + room - 1) + 1, at);
    if (cut <= at + room / 2) cut = at + room;
    out.push(cut);
    at = cut;
  }
  return out;
}

let listings = 0;

class Listing {
  /**
   * `lines` has `length` and `text(i)`; `draw(row, i, text, isFirst)` fills the element of a row, `mark(i)` says how it
   * is lit. `onCursor(i, how, event)` is called with the place of pointer and keys: how is 'point', 'key' or 'pin'; i is -1 where
   * they leave. A listing that `wraps` is never wider than its element.
   */
  constructor(label, { draw, mark, onCursor, onSide, wraps = false }) {
    Object.assign(this, { draw, mark, onCursor, onSide, wraps });
    this.columns = MOST_COLUMNS;
    this.id = `listing-${listings++}`;
    this.rows = el('div', { class: 'rows', role: 'presentation' });
    this.element = el(
      'div',
      {
        class: 'listing',
        id: this.id,
        tabindex: 0,
        role: 'listbox',
        'aria-label': label,
        onscroll: () => this.renderSoon(),
        onkeydown: (event) => this.key(event),
        onpointermove: (event) => this.point(event),
        onpointerleave: () => this.onCursor?.(-1, 'point'),
        onclick: (event) => this.click(event),
        onfocus: () => this.cursor < 0 && this.length > 0 && this.moveTo(this.firstRowInSight(), false),
      },
      this.rows,
    );
    this.shown = new Map();
    this.expanded = new Set();
    this.setLines({ length: 0, text: () => '' });
    new ResizeObserver(() => {
      if (this.wraps) this.fit();
      this.renderSoon();
    }).observe(this.element);
  }

  setLines(lines) {
    this.lines = lines;
    this.expanded.clear();
    this.cursor = -1;
    this.layOut();
    this.element.scrollTop = 0;
  }

  /** Lays out anew where the width changed; the first line in sight stays there. */
  fit() {
    const probe = el('span', { class: 'gutter' }, '0'.repeat(100));
    probe.style.cssText = 'font-size: inherit; width: auto; visibility: hidden';
    const space = el('span');
    space.style.cssText = 'position: absolute; width: calc(var(--gutter) + 1rem)';
    this.rows.append(probe, space);
    const width = (this.element.clientWidth - space.offsetWidth) / (probe.getBoundingClientRect().width / 100);
    probe.remove();
    space.remove();
    const columns = Math.min(MOST_COLUMNS, Math.max(LEAST_COLUMNS, Math.floor(width)));
    if (!(width > 0) || columns === this.columns) return;
    const line = this.lineOf[Math.floor(this.element.scrollTop / ROW)] ?? 0,
      cursor = this.lineOf[this.cursor];
    this.columns = columns;
    this.layOut();
    this.cursor = cursor === undefined ? -1 : this.firstRow[cursor];
    if (line > 0) this.element.scrollTop = this.firstRow[line] * ROW;
  }

  /** Rows: the line of each, and its part of the line's text; a part of -1 stands for those that are folded. */
  layOut() {
    this.lineOf = [];
    this.from = [];
    this.to = [];
    this.firstRow = new Int32Array(this.lines.length);
    let widest = 0;
    for (let i = 0; i < this.lines.length; i++) {
      const text = this.lines.text(i),
        at = cuts(text, this.wraps ? this.columns : MOST_COLUMNS * (text.length <= MOST_COLUMNS * 1.2 ? 1.2 : 1)),
        most = Math.max(3, Math.round(FOLDED_COLUMNS / this.columns));
      this.firstRow[i] = this.lineOf.length;
      const folded = at.length > most + 1 && !this.expanded.has(i);
      for (let part = 0; part < (folded ? most : at.length); part++) {
        const end = part + 1 < at.length ? at[part + 1] : text.length;
        this.addRow(i, at[part], end);
        widest = Math.max(widest, end - at[part] + (part ? INDENTED : 0));
      }
      if (folded) this.addRow(i, -1, at.length - most);
    }
    this.length = this.lineOf.length;
    this.rows.style.height = `${this.length * ROW}px`;
    this.rows.style.minWidth = this.wraps ? '' : `calc(${widest}ch + var(--gutter) + 2rem)`;
    this.rows.replaceChildren();
    this.shown.clear();
    this.renderSoon();
  }

  addRow(line, from, to) {
    this.lineOf.push(line);
    this.from.push(from);
    this.to.push(to);
  }

  renderSoon() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = null;
      this.render();
    });
  }

  render() {
    const top = this.element.scrollTop,
      height = this.element.clientHeight;
    const first = Math.max(0, Math.floor(top / ROW) - OVERSCAN);
    const last = Math.min(this.length, Math.ceil((top + height) / ROW) + OVERSCAN);
    for (const [row, node] of this.shown) {
      if (row >= first && row < last) continue;
      node.remove();
      this.shown.delete(row);
    }
    for (let row = first; row < last; row++) {
      if (!this.shown.has(row)) this.show(row);
    }
  }

  show(row) {
    const line = this.lineOf[row],
      from = this.from[row];
    const node = el('div', {
      class: 'row',
      id: `${this.id}-${row}`,
      role: 'option',
      'aria-setsize': this.length,
      'aria-posinset': row + 1,
    });
    node.style.top = `${row * ROW}px`;
    if (from < 0) {
      node.append(el('span', { class: 'folded' }, `… ${count(this.to[row], 'row')} more`));
    } else {
      this.draw(node, line, this.lines.text(line).slice(from, this.to[row]), from === 0);
      if (from > 0) node.classList.add('continued');
    }
    this.shown.set(row, node);
    this.dress(row, node);
    this.rows.append(node);
  }

  /** Classes change while rows stay. */
  dress(row, node) {
    const line = this.lineOf[row];
    node.dataset.mark = this.mark?.(line) || '';
    node.classList.toggle('cursor', row === this.cursor);
    node.setAttribute('aria-selected', row === this.cursor);
  }

  refresh() {
    for (const [row, node] of this.shown) this.dress(row, node);
  }

  redraw() {
    this.rows.replaceChildren();
    this.shown.clear();
    this.render();
  }

  firstRowInSight() {
    return Math.min(this.length - 1, Math.ceil(this.element.scrollTop / ROW));
  }

  isInSight(row) {
    const top = this.element.scrollTop;
    return row * ROW >= top && (row + 1) * ROW <= top + this.element.clientHeight;
  }

  scrollTo(row) {
    if (!this.isInSight(row)) this.element.scrollTop = row * ROW - this.element.clientHeight / 3;
    this.render();
  }

  scrollToLine(line) {
    this.scrollTo(this.firstRow[line]);
  }

  moveTo(row, isMoved = true) {
    this.cursor = Math.max(0, Math.min(this.length - 1, row));
    const top = this.element.scrollTop,
      height = this.element.clientHeight;
    if (isMoved && this.cursor * ROW < top) this.element.scrollTop = this.cursor * ROW;
    if (isMoved && (this.cursor + 1) * ROW > top + height) this.element.scrollTop = (this.cursor + 1) * ROW - height;
    this.render();
    this.refresh();
    this.element.setAttribute('aria-activedescendant', `${this.id}-${this.cursor}`);
    if (isMoved) this.onCursor?.(this.lineOf[this.cursor], 'key');
  }

  rowAt(event) {
    const row = Math.floor((event.clientY - this.rows.getBoundingClientRect().top) / ROW);
    return row >= 0 && row < this.length ? row : -1;
  }

  point(event) {
    const row = this.rowAt(event);
    this.onCursor?.(row < 0 ? -1 : this.lineOf[row], 'point', event);
  }

  click(event) {
    const row = this.rowAt(event);
    if (row < 0 || String(getSelection())) return;
    if (!this.unfold(row)) {
      this.cursor = row;
      this.refresh();
      this.onCursor?.(this.lineOf[row], 'pin', event);
    }
  }

  /** True where the row stood for folded ones. */
  unfold(row) {
    if (this.from[row] >= 0) return false;
    this.expanded.add(this.lineOf[row]);
    this.layOut();
    this.render();
    return true;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.length === 0) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 1);
    const steps = {
      ArrowUp: -1,
      ArrowDown: 1,
      PageUp: -page,
      PageDown: page,
      Home: -this.length,
      End: this.length,
    };
    if (event.key in steps) this.moveTo(this.cursor + steps[event.key]);
    else if (event.key === 'Enter' || event.key === ' ') {
      if (this.cursor >= 0 && !this.unfold(this.cursor)) this.onCursor?.(this.lineOf[this.cursor], 'pin');
    } else if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
      if (!this.onSide) return;
      this.onSide(event.key === 'ArrowLeft' ? -1 : 1);
    } else return;
    event.preventDefault();
  }
}
