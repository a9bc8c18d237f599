// Where elements of tiles are: which thread and register has each, or which address and bank of shared memory; and how
// threads access shared memory. All numbers are the compiler's (layout_tables.h): here they are added and looked up.

const CELL = { least: 5, most: 46, labels: 34, numbers: 17, margin: 34, across: 980 };
const BANKS = 32;

/** Of a layout of threads: for each element, row by row, the owner that stores it, and all of them. */
class ThreadTable {
  constructor(table) {
    [this.rows, this.columns] = table.extents.length === 2 ? table.extents : [1, table.extents[0] ?? 1];
    this.rank = table.extents.length;
    this.parts = { registers: this.split(table.registers), lanes: this.split(table.lanes), warps: this.split(table.warps) };
    this.owners = Array.from({ length: this.rows * this.columns }, () => []);
    this.parts.warps.forEach((_, warp) =>
      this.parts.lanes.forEach((_, lane) =>
        this.parts.registers.forEach((_, register) =>
          this.owners[this.elementOf(warp, lane, register)].push({ warp, lane, register }),
        ),
      ),
    );
  }

  /** Coordinates that an index adds, as a number of elements from the first one. */
  split(numbers) {
    if (this.rank === 0) return numbers.length ? numbers : [0];
    const parts = [];
    for (let i = 0; i < numbers.length; i += this.rank)
      parts.push(this.rank === 2 ? numbers[i] * this.columns + numbers[i + 1] : numbers[i]);
    return parts;
  }

  elementOf(warp, lane, register) {
    return this.parts.warps[warp] + this.parts.lanes[lane] + this.parts.registers[register];
  }

  get copies() {
    return this.owners[0].length;
  }

  label(element) {
    const { warp, lane, register } = this.owners[element][0];
    return `${warp}:${lane}:${register}`;
  }

  words(element) {
    const [first, ...others] = this.owners[element];
    const text = ({ warp, lane, register }) => `warp ${warp}, lane ${lane}, register ${register}`;
    const more = others.length > 3 ? ` and ${others.length - 3} more` : '';
    return text(first) + (others.length ? `; also ${others.slice(0, 3).map(text).join('; ')}${more}` : '');
  }

  colours = {
    lane: (element) => this.owners[element][0].lane / this.parts.lanes.length,
    warp: (element) => this.owners[element][0].warp / this.parts.warps.length,
    register: (element) => this.owners[element][0].register / this.parts.registers.length,
  };

  /** Elements of the same thread. */
  isLike(a, b) {
    const [x, y] = [this.owners[a][0], this.owners[b][0]];
    return x.warp === y.warp && x.lane === y.lane;
  }
}

/** Of shared memory: the address of each element. */
class MemoryTable {
  constructor(table) {
    [this.rows, this.columns] = table.extents.length === 2 ? table.extents : [1, table.extents[0] ?? 1];
    Object.assign(this, { offsets: table.offsets, bytes: table.bytes, element: table.element });
  }

  bank(element) {
    return Math.floor(this.offsets[element] / 4) % BANKS;
  }

  label(element) {
    return String(this.offsets[element]);
  }

  words(element) {
    return `byte ${this.offsets[element]}, bank ${this.bank(element)}, line ${Math.floor(this.offsets[element] / 128)} of 128 bytes`;
  }

  colours = {
    bank: (element) => this.bank(element) / BANKS,
    'chunk of 16 bytes': (element) => (Math.floor(this.offsets[element] / 16) % 8) / 8,
    address: (element) => this.offsets[element] / this.bytes,
  };

  /** Elements of the same bank. */
  isLike(a, b) {
    return this.bank(a) === this.bank(b);
  }
}

/** A grid of elements: pointing at one, or going there by arrow keys, says where it is. */
class Grid {
  constructor(table, { lit = null, note = () => '' } = {}) {
    Object.assign(this, { table, lit, note, colour: Object.keys(table.colours)[0], cursor: -1 });
    this.wraps = table.rows === 1 && table.columns > 32;
    this.columns = this.wraps ? 32 : table.columns;
    this.rows = this.wraps ? Math.ceil(table.columns / 32) : table.rows;
    const tallest = 15000 / this.rows;
    this.cell = Math.max(CELL.least, Math.min(CELL.most, tallest, Math.floor(CELL.across / this.columns)));
    this.canvas = el('canvas', {
      class: 'grid',
      tabindex: 0,
      role: 'img',
      'aria-label': `${table.rows} × ${table.columns} elements; arrow keys go from one to the next`,
      onmousemove: (event) => this.pointAt(this.at(event)),
      onmouseleave: () => this.pointAt(-1),
      onkeydown: (event) => this.onKey(event),
    });
    this.says = el('p', { class: 'says', 'aria-live': 'polite' });
    this.choice = el('select', { 'aria-label': 'Colours', onchange: () => this.paint((this.colour = this.choice.value)) });
    this.choice.append(...Object.keys(table.colours).map((name) => el('option', { value: name }, name)));
    this.element = el(
      'div',
      { class: 'tile' },
      el('div', { class: 'toolrow' }, el('label', { class: 'choice' }, 'Colours by ', this.choice), this.says),
      el('div', { class: 'scroll' }, this.canvas),
    );
    this.pointAt(-1);
  }

  at(event) {
    const column = Math.floor((event.offsetX - CELL.margin) / this.cell),
      row = Math.floor((event.offsetY - 16) / this.cell);
    const isInside = column >= 0 && row >= 0 && column < this.columns && row < this.rows;
    const element = row * this.columns + column;
    return isInside && element < this.table.rows * this.table.columns ? element : -1;
  }

  coordinates(element) {
    const { rows, columns } = this.table;
    return rows === 1 ? `[${element}]` : `[${Math.floor(element / columns)}, ${element % columns}]`;
  }

  pointAt(element) {
    this.cursor = element;
    const hint = 'Point at an element, or use the arrow keys.';
    this.says.textContent =
      element < 0 ? hint : `${this.coordinates(element)}: ${this.table.words(element)}${this.note(element)}`;
    this.paint();
  }

  onKey(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns }[event.key];
    if (!step) return;
    const next = this.cursor < 0 ? 0 : this.cursor + step;
    if (next >= 0 && next < this.table.rows * this.table.columns) this.pointAt(next);
    event.preventDefault();
    event.stopPropagation();
  }

  paint() {
    const { canvas, cell, columns, rows, table } = this,
      isDark = document.documentElement.dataset.theme === 'dark';
    const [width, height] = [CELL.margin + columns * cell + 1, 16 + rows * cell + 1],
      scale = height > 8000 ? 1 : devicePixelRatio || 1;
    if (canvas.width !== width * scale) [canvas.width, canvas.height] = [width * scale, height * scale];
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    const paint = canvas.getContext('2d'),
      style = getComputedStyle(document.documentElement);
    paint.setTransform(scale, 0, 0, scale, 0, 0);
    paint.clearRect(0, 0, width, height);
    this.paintNumbers(paint, style);
    paint.textAlign = 'center';
    const share = table.colours[this.colour],
      elements = table.rows * table.columns,
      gap = cell > 8 ? 1 : 0;
    for (let element = 0; element < elements; element++) {
      const [x, y] = [CELL.margin + (element % columns) * cell, 16 + Math.floor(element / columns) * cell];
      const isFaint = (this.lit && !this.lit.has(element)) || (this.cursor >= 0 && !table.isLike(this.cursor, element));
      const hue = Math.round(share(element) * 330);
      const light = isDark ? (isFaint ? 17 : 36) : isFaint ? 94 : 76;
      paint.fillStyle = `hsl(${hue} ${isFaint ? 18 : 58}% ${light}%)`;
      paint.fillRect(x, y, cell - gap, cell - gap);
      if (cell < CELL.labels) continue;
      paint.fillStyle = style.getPropertyValue(isFaint ? '--soft' : '--ink');
      paint.font = `${Math.min(11, Math.floor((cell / this.table.label(element).length) * 1.6))}px monospace`;
      paint.fillText(table.label(element), x + cell / 2, y + cell / 2 + 4);
    }
    if (this.cursor >= 0) {
      paint.strokeStyle = style.getPropertyValue('--accent');
      paint.lineWidth = 2;
      const [x, y] = [CELL.margin + (this.cursor % columns) * cell, 16 + Math.floor(this.cursor / columns) * cell];
      paint.strokeRect(x, y, cell - gap, cell - gap);
    }
  }

  /** The numbers of rows and columns, as many as there is room for. */
  paintNumbers(paint, style) {
    const { cell, columns, rows } = this,
      every = Math.max(1, 2 ** Math.ceil(Math.log2(CELL.numbers / cell)));
    paint.fillStyle = style.getPropertyValue('--soft');
    paint.font = '10px sans-serif';
    paint.textAlign = 'center';
    for (let column = 0; column < columns; column += every) paint.fillText(column, CELL.margin + (column + 0.5) * cell, 11);
    paint.textAlign = 'right';
    for (let row = 0; row < rows; row += every)
      paint.fillText(this.wraps ? row * columns : row, CELL.margin - 5, 16 + (row + 0.5) * cell + 3);
  }
}

class LayoutView {
  constructor(root, inspection, { onKernel, onPlace }) {
    Object.assign(this, { root, inspection, onKernel, onPlace });
  }

  show(program) {
    this.program = program;
    this.grids = [];
    this.choices = this.choicesOf(program);
    if (this.choices.length === 0) {
      const words = program.target.startsWith('cuda')
        ? 'The kernels of this program hold no tiles.'
        : 'A program of a CPU is one thread: its tiles have no layouts. Choose a GPU as the target.';
      this.root.replaceChildren(el('div', { class: 'page' }, el('p', { class: 'hint' }, words)));
      return;
    }
    this.list = el('nav', { class: 'choices', 'aria-label': 'Layouts and accesses by kernel' });
    this.sheet = el('div', { class: 'page board' });
    this.root.replaceChildren(el('div', { class: 'layouts' }, this.list, this.sheet));
    let last = null;
    for (const choice of this.choices) {
      if (choice.kernel !== last) this.list.append(el('h2', {}, this.inspection.titleOf(choice.kernel)));
      last = choice.kernel;
      choice.button = el(
        'button',
        { class: 'link code', title: choice.text, onclick: () => this.choose(choice) },
        choice.access ? this.accessText(choice.access) : choice.text,
      );
      this.list.append(choice.button);
    }
    this.choose(this.choices.find((choice) => choice.access?.conflicts) ?? this.choices[0]);
  }

  /** What can be drawn: layouts of tiles and of shared memory, then accesses, kernel by kernel. */
  choicesOf(program) {
    return (program.layouts ?? []).flatMap(({ kernel, tiles, accesses }) => [
      ...tiles.map((text) => ({ id: `${kernel} ${text}`, kernel, text })),
      ...accesses.map((access, i) => ({ id: `${kernel} access ${i}`, kernel, access, text: access.shared })),
    ]);
  }

  accessText({ op, shared, width, conflicts }) {
    return `${op} of ${shared}, ${width} at a time: ${conflicts ? count(conflicts, 'conflict') : 'no conflict'}`;
  }

  choose(choice) {
    this.chosen = choice;
    for (const { button } of this.choices) button.removeAttribute('aria-current');
    choice.button.setAttribute('aria-current', 'true');
    this.grids = [];
    this.sheet.replaceChildren(...(choice.access ? this.drawAccess(choice) : this.drawLayout(choice.text)));
    this.sheet.scrollTop = 0;
    for (const grid of this.grids) grid.paint();
    this.onMove?.();
  }

  tableOf(text) {
    const table = this.inspection.layouts[text];
    if (!table) return null;
    return table.kind === 'threads' ? new ThreadTable(table) : new MemoryTable(table);
  }

  grid(table, options) {
    this.grids.push(new Grid(table, options));
    return this.grids.at(-1).element;
  }

  drawLayout(text) {
    const table = this.tableOf(text);
    if (!table) return [el('h2', {}, el('code', {}, text)), el('p', { class: 'hint' }, 'It has too many elements or axes to be drawn.')];
    const isMemory = table instanceof MemoryTable;
    const words = isMemory
      ? `Shared memory of ${bytesText(table.bytes)}. A cell is an element; its number is its address in bytes. Elements of ` +
        'one colour are in one bank, of which a warp reads one word at a time.'
      : `${count(table.parts.warps.length, 'warp')}, ${count(table.parts.lanes.length, 'lane')}, ` +
        `${count(table.parts.registers.length, 'register')} a thread. A cell is an element, warp:lane:register where it is ` +
        `held${table.copies > 1 ? `; each is held ${table.copies} times` : ''}.`;
    return [el('h2', {}, el('code', {}, text)), el('p', {}, words), this.grid(table)];
  }

  drawAccess({ kernel, access }) {
    const threads = this.tableOf(access.layout),
      memory = this.tableOf(access.shared);
    const place = this.inspection.place(access.place);
    const parts = [
      el('h2', {}, el('code', {}, access.op), ' of shared memory'),
      el(
        'p',
        {},
        el('button', { class: 'link', onclick: () => this.onKernel(kernel) }, this.inspection.titleOf(kernel)),
        place ? ` at ${this.inspection.files[place.file].name}:${place.line}` : '',
        `: each thread moves ${count(access.width, 'element')} at a time, ${access.together} lanes together. `,
        access.conflicts
          ? el('b', { class: 'bad' }, `${count(access.conflicts, 'bank conflict')} in the worst access of a warp.`)
          : el('b', { class: 'good' }, 'No bank conflicts.'),
      ),
      el('p', { class: 'muted' }, 'Threads ', el('code', {}, access.layout), ', memory ', el('code', {}, access.shared)),
      this.banks(access),
    ];
    if (!threads || !memory) return [...parts, el('p', { class: 'hint' }, 'It has too many elements to be drawn.')];
    const lit = new Map();
    threads.parts.lanes.forEach((_, lane) => {
      for (let i = 0; i < access.width; i++) lit.set(threads.elementOf(access.warp, lane, access.register + i), lane);
    });
    const note = (element) => (lit.has(element) ? `; lane ${lit.get(element)} of this access` : '');
    parts.push(
      el('p', {}, `What warp ${access.warp} accesses with register ${access.register}, in the memory:`),
      this.grid(memory, { lit, note }),
    );
    return parts;
  }

  /** How many words each bank gives: more than one at a time are one after another. */
  banks({ words, together }) {
    const most = Math.max(1, ...words.flat()),
      [width, height] = [18, Math.min(14, 90 / most)];
    const figures = words.map((group, g) =>
      svg(
        'g',
        { transform: `translate(${(g % 2) * (BANKS * width + 60)} ${Math.floor(g / 2) * (most * height + 44)})` },
        svg('text', { class: 'axis', x: 0, y: 12 }, `lanes ${g * together} to ${(g + 1) * together - 1}: words of each bank`),
        ...group.flatMap((asked, bank) =>
          Array.from({ length: asked }, (_, i) =>
            svg(
              'rect',
              { class: i ? 'word bad' : 'word', x: bank * width, y: 20 + (most - 1 - i) * height, width: width - 2, height: height - 1 },
              title(`bank ${bank}: ${asked}`),
            ),
          ),
        ),
        ...[0, 8, 16, 24, 31].map((bank) =>
          svg('text', { class: 'tick', x: bank * width + width / 2, y: 32 + most * height, 'text-anchor': 'middle' }, bank),
        ),
      ),
    );
    const rows = Math.ceil(words.length / 2);
    const size = { width: BANKS * width * Math.min(2, words.length) + 60, height: rows * (most * height + 44) };
    return el(
      'div',
      { class: 'scroll' },
      svg('svg', { class: 'banks', ...size, role: 'img', 'aria-label': 'Words that the access asks of each bank' }, ...figures),
    );
  }

  /** In other colours. */
  repaint() {
    for (const grid of this.grids ?? []) grid.paint();
  }

  // What a link says of this view.

  state() {
    return { layout: this.chosen?.id ?? '' };
  }

  restore({ layout }) {
    const choice = this.choices?.find((each) => each.id === layout);
    if (choice) this.choose(choice);
  }
}
