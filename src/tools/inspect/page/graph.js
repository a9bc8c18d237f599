// The graph of an entry, laid out in layers by dagre: groups open and close, the picture moves and scales, and what is
// selected is explained beside it.

const NODE = { height: 26, tall: 38, head: 14, most: 230, pad: 10, font: 7.1 };

class GraphView {
  constructor(root, inspection, { onLine, onKernel }) {
    Object.assign(this, { root, inspection, onLine, onKernel });
    this.trees = new Map();
  }

  show(program) {
    this.program = program;
    if (!program.graph) {
      const words = 'A kernel that stands for itself has no graph: it is compiled as it is written.';
      this.tree = null;
      this.root.replaceChildren(el('div', { class: 'page' }, el('p', { class: 'hint' }, words)));
      return;
    }
    if (!this.trees.has(program)) this.trees.set(program, new ModelTree(this.inspection, program));
    this.tree = this.trees.get(program);
    this.selected = null;
    this.kernels = [...new Set(program.graph.ops.flatMap((op) => op.kernels))];
    this.build();
    this.layOut();
    this.fit();
    this.select(null);
  }

  build() {
    const button = (text, words, onclick) => el('button', { class: 'icon', 'aria-label': words, title: words, onclick }, text);
    this.canvas = el('svg:g', {});
    this.picture = svg('svg', {
      class: 'graph',
      tabindex: 0,
      role: 'application',
      'aria-label': `Graph of ${this.program.name}: arrow keys go from node to node, Enter opens and closes`,
      onkeydown: (event) => this.onKey(event),
      onwheel: (event) => this.onWheel(event),
      onpointerdown: (event) => this.onDrag(event),
    }, svg('defs', {}, this.arrow()), this.canvas);
    this.panel = el('aside', { class: 'about', 'aria-live': 'polite' });
    this.root.replaceChildren(
      el(
        'div',
        { class: 'graphs' },
        el(
          'div',
          { class: 'drawing' },
          this.picture,
          el(
            'div',
            { class: 'zoom', role: 'group', 'aria-label': 'View of the graph' },
            button('+', 'Larger (+)', () => this.zoom(1.25)),
            button('−', 'Smaller (-)', () => this.zoom(0.8)),
            button('⤢', 'All of it (0)', () => this.fit()),
            button('⊟', 'Closes all groups', () => this.closeAll()),
          ),
        ),
        this.panel,
      ),
    );
  }

  arrow() {
    const box = { id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' };
    return svg('marker', box, svg('path', { class: 'head', d: 'M0 0L8 4L0 8Z' }));
  }

  // Layout.

  layOut() {
    const layout = new dagre.graphlib.Graph({ compound: true });
    const { nodes, edges } = this.tree.visible();
    const levels = this.tree.levelsOf(this.tree.root) - 1;
    const margin = 16 + levels * NODE.head;
    layout.setGraph({ nodesep: 14, ranksep: 24 + 8 * levels, edgesep: 8, marginx: 16, marginy: margin });
    this.nodes = nodes;
    for (const node of nodes) {
      layout.setNode(node.id, node.isOpen ? {} : this.sizeOf(node));
      if (node.parent !== this.tree.root) layout.setParent(node.id, node.parent.id);
    }
    for (const { from, to, values } of edges) {
      const text = this.edgeText(values);
      layout.setEdge(from.id, to.id, { width: text.length * 5.6, height: 12, labelpos: 'c', text });
    }
    dagre.layout(layout);
    this.draw(layout, edges);
  }

  sizeOf(node) {
    const longest = Math.max(node.label.length + (node.kind === 'group' ? 2 : 0), this.below(node).length * 0.86);
    const width = Math.min(NODE.most, Math.max(46, longest * NODE.font + 2 * NODE.pad));
    return { width, height: this.below(node) ? NODE.tall : NODE.height };
  }

  /** The second line of a node: its first kernel and how many others sizes may choose, or what is in it. */
  below(node) {
    if (node.kind === 'group') return `${count(node.ops, 'op')}, ${count(this.titlesOf(node).length, 'kernel')}`;
    if (node.kind !== 'op' || !node.kernels.size) return '';
    const [first, ...others] = this.titlesOf(node);
    return others.length ? `${first} +${others.length}` : first;
  }

  /** Variants of a kernel are one: their names differ behind a point. */
  titlesOf(node) {
    const bases = [...node.kernels].map((kernel) => kernel.replace(/\.(?:v\d+|[ab])$/, ''));
    return [...new Set(bases)].map((kernel) => this.inspection.titleOf(kernel));
  }

  edgeText(values) {
    const [first] = values;
    const text = shortType(this.tree.graph.values[first].type);
    return values.size > 1 ? `${text} +${values.size - 1}` : text;
  }

  // Drawing.

  draw(layout, edges) {
    const shapes = this.nodes.filter((node) => node.isOpen).map((node) => this.drawOpen(node, layout.node(node.id)));
    const lines = edges.map((edge) => this.drawEdge(edge, layout.edge(edge.from.id, edge.to.id)));
    const boxes = this.nodes.filter((node) => !node.isOpen).map((node) => this.drawNode(node, layout.node(node.id)));
    this.canvas.replaceChildren(...shapes, ...lines, ...boxes);
    this.size = layout.graph();
    this.mark();
  }

  place(node, box) {
    node.box = { x: box.x, y: box.y, width: box.width, height: box.height };
    return { x: box.x - box.width / 2, y: box.y - box.height / 2, width: box.width, height: box.height };
  }

  shape(node, ...parts) {
    const words = node.kind === 'group' ? `${node.label}, ${this.below(node)}, ${node.isOpen ? 'open' : 'closed'}` : node.label;
    const kernel = [...node.kernels][0];
    node.shape = svg(
      'g',
      {
        id: `node-${node.id}`,
        class: `node ${node.kind}${node.isOpen ? ' open' : ''}`,
        role: 'img',
        'aria-label': words,
        'data-kernel': kernel === undefined ? null : this.kernels.indexOf(kernel) % 6,
        onclick: (event) => this.onClick(event, node),
        ondblclick: () => this.toggle(node),
      },
      ...parts,
    );
    return node.shape;
  }

  drawOpen(node, box) {
    const { x, y, width, height } = this.place(node, box),
      head = NODE.head * this.tree.levelsOf(node);
    return this.shape(
      node,
      svg('rect', { x, y: y - head, width, height: height + head, rx: 8 }),
      svg('text', { class: 'label toggle', x: x + 8, y: y + 13 - head, onclick: (event) => this.onToggle(event, node) }, `▾ ${node.label}`),
    );
  }

  drawNode(node, box) {
    const { x, y, width, height } = this.place(node, box),
      most = Math.floor((width - 2 * NODE.pad) / NODE.font) + 1,
      below = this.below(node);
    const cut = (text, length) => (text.length > length ? text.slice(0, length - 1) + '…' : text);
    const label = (node.kind === 'group' ? '▸ ' : '') + cut(node.label, most);
    const rx = node.kind === 'op' || node.kind === 'group' ? 5 : height / 2;
    const parts = [svg('rect', { x, y, width, height, rx })];
    if (node.kind === 'op' && node.kernels.size) parts.push(svg('rect', { class: 'stripe', x, y: y + 4, width: 4, height: height - 8 }));
    const toggle = node.kind === 'group' ? { class: 'label toggle', onclick: (event) => this.onToggle(event, node) } : { class: 'label' };
    parts.push(svg('text', { ...toggle, x: box.x, y: y + 17, 'text-anchor': 'middle' }, label));
    if (below) {
      const text = cut(below, Math.floor(most / 0.8));
      parts.push(svg('text', { class: 'below', x: box.x, y: y + 30, 'text-anchor': 'middle' }, text));
    }
    return this.shape(node, ...parts, title(this.titleText(node)));
  }

  titleText(node) {
    if (node.kind === 'group') return `${node.label}: ${this.below(node)}`;
    if (node.op !== undefined) return this.tree.lineOf(node.op);
    return `${node.label}: ${this.tree.graph.values[node.value].type}`;
  }

  drawEdge(edge, { points, x, y, text }) {
    const [start, ...others] = points;
    // Corners are rounded: a curve goes from the middle of a piece to the middle of the next one.
    let path = `M${start.x} ${start.y}`;
    others.forEach((point, i) => {
      const next = others[i + 1];
      path += next ? `Q${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}` : `L${point.x} ${point.y}`;
    });
    const types = [...edge.values].map((value) => this.tree.graph.values[value].type).join('\n');
    edge.shape = svg(
      'g',
      { class: 'edge', 'data-from': edge.from.id, 'data-to': edge.to.id },
      svg('path', { d: path, 'marker-end': 'url(#arrow)' }),
      svg('text', { x, y: y + 4, 'text-anchor': 'middle' }, text),
      title(types),
    );
    return edge.shape;
  }

  // What is selected.

  select(node, isSeen = false) {
    this.selected = node;
    this.mark();
    this.panel.replaceChildren(...(node ? this.about(node) : this.aboutAll()));
    if (node && isSeen) this.bringIntoSight(node);
    this.onMove?.();
  }

  mark() {
    for (const shape of this.canvas.querySelectorAll('.selected, .near')) shape.classList.remove('selected', 'near');
    this.picture.removeAttribute('aria-activedescendant');
    if (!this.selected?.shape) return;
    this.selected.shape.classList.add('selected');
    this.picture.setAttribute('aria-activedescendant', this.selected.shape.id);
    for (const edge of this.canvas.querySelectorAll('.edge')) {
      const { from, to } = edge.dataset;
      if (from === this.selected.id || to === this.selected.id) edge.classList.add('near');
    }
  }

  aboutAll() {
    const { root, graph } = this.tree;
    return [
      el('h2', {}, this.program.name),
      el('p', {}, `${count(graph.ops.length, 'op')}, ${count(this.titlesOf(root).length, 'kernel')} on ${this.program.target}.`),
      el(
        'p',
        { class: 'muted' },
        'The graph after its passes, before kernels are made of it. A box with ▸ is a call in the source: a double click ' +
          'opens it. A bar and the second line of an op name the kernel that computes it. Drag to move, turn the wheel ' +
          'to scale.',
      ),
    ];
  }

  about(node) {
    const parts = [el('h2', {}, node.label)];
    if (node.kind === 'group') {
      parts.push(el('p', {}, `${count(node.ops, 'op')}.`));
      parts.push(el('button', { class: 'link', onclick: () => this.toggle(node) }, node.isOpen ? 'Close' : 'Open'));
      if (node.file !== undefined) parts.push(this.sourceLine('Called at', node.file, node.line));
    } else if (node.op !== undefined) {
      parts.push(...this.aboutOp(node));
    } else {
      const { type } = this.tree.graph.values[node.value];
      parts.push(el('p', {}, node.kind === 'param' ? 'A param.' : 'An input.'), el('code', { class: 'block' }, type));
    }
    if (node.kernels.size) {
      const links = [...node.kernels].map((kernel) => el('li', {}, this.kernelLink(kernel)));
      parts.push(el('h3', {}, node.kind === 'op' ? 'Computed by' : 'Kernels'), el('ul', {}, ...links));
    }
    return parts;
  }

  aboutOp(node) {
    const parts = [el('code', { class: 'block' }, coloured(this.tree.lineOf(node.op), 'ir'))];
    const place = this.tree.placeOf(node.op);
    if (place) parts.push(this.sourceLine('Written at', place.file, place.line));
    const line = this.tree.graph.ops[node.op].line;
    parts.push(el('button', { class: 'link', onclick: () => this.onLine(line) }, 'See its lowering'));
    return parts;
  }

  sourceLine(words, file, line) {
    const text = this.inspection.fileTexts[file]?.[line - 1] ?? '';
    return el(
      'div',
      {},
      el('h3', {}, `${words} ${this.inspection.files[file].name}:${line}`),
      el('code', { class: 'block' }, coloured(text.trim(), 'source')),
    );
  }

  kernelLink(kernel) {
    const text = this.inspection.titleOf(kernel);
    return el('button', { class: 'link code', title: 'See its lowering', onclick: () => this.onKernel(kernel) }, text);
  }

  // Opening, closing, moving.

  toggle(node) {
    if (node.kind !== 'group') return;
    if (node.isOpen) node.isOpen = false;
    else this.tree.open(node);
    const before = { ...node.box };
    this.layOut();
    // What was clicked stays where it is on the screen.
    this.view.x += (before.x - before.width / 2 - (node.box.x - node.box.width / 2)) * this.view.scale;
    this.view.y += (before.y - before.height / 2 - (node.box.y - node.box.height / 2)) * this.view.scale;
    this.applyView();
    this.select(node);
  }

  closeAll() {
    this.tree.closeAll();
    this.layOut();
    this.fit();
    this.select(null);
  }

  onClick(event, node) {
    event.stopPropagation();
    if (!this.wasDragged) this.select(node);
  }

  onToggle(event, node) {
    event.stopPropagation();
    if (!this.wasDragged) this.toggle(node);
  }

  onDrag(event) {
    if (event.button !== 0) return;
    const start = { x: event.clientX - this.view.x, y: event.clientY - this.view.y };
    this.wasDragged = false;
    const move = (moved) => {
      const [x, y] = [moved.clientX - start.x, moved.clientY - start.y];
      this.wasDragged ||= Math.abs(x - this.view.x) + Math.abs(y - this.view.y) > 3;
      if (!this.wasDragged) return;
      Object.assign(this.view, { x, y });
      this.applyView();
    };
    const end = () => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', end);
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', end);
  }

  onWheel(event) {
    event.preventDefault();
    const box = this.picture.getBoundingClientRect();
    this.zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - box.x, event.clientY - box.y);
  }

  zoom(by, x = this.picture.clientWidth / 2, y = this.picture.clientHeight / 2) {
    const { view } = this,
      scale = Math.min(3, Math.max(0.05, view.scale * by));
    view.x = x - ((x - view.x) * scale) / view.scale;
    view.y = y - ((y - view.y) * scale) / view.scale;
    view.scale = scale;
    this.applyView();
  }

  /** All of it where it can be read, else its beginning. */
  fit() {
    const [width, height] = [this.picture.clientWidth || 900, this.picture.clientHeight || 600];
    const scale = Math.min(1.2, Math.max(0.55, Math.min(width / this.size.width, height / this.size.height)));
    const y = Math.max(0, (height - this.size.height * scale) / 2);
    this.view = { scale, x: (width - this.size.width * scale) / 2, y };
    this.applyView();
  }

  applyView() {
    const { x, y, scale } = this.view;
    this.canvas.setAttribute('transform', `translate(${x} ${y}) scale(${scale})`);
  }

  bringIntoSight({ box }) {
    const { view } = this,
      [x, y] = [box.x * view.scale + view.x, box.y * view.scale + view.y],
      [width, height] = [this.picture.clientWidth, this.picture.clientHeight];
    if (x < 40 || x > width - 40) view.x += width / 2 - x;
    if (y < 30 || y > height - 30) view.y += height / 2 - y;
    this.applyView();
  }

  // Keys.

  onKey(event) {
    const act = {
      '+': () => this.zoom(1.25),
      '=': () => this.zoom(1.25),
      '-': () => this.zoom(0.8),
      0: () => this.fit(),
      Enter: () => this.selected && this.toggle(this.selected),
      ' ': () => this.selected && this.toggle(this.selected),
      Escape: () => this.select(null),
      ArrowDown: () => this.go(0, 1),
      ArrowUp: () => this.go(0, -1),
      ArrowRight: () => this.go(1, 0),
      ArrowLeft: () => this.go(-1, 0),
    }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  }

  /** To the nearest node in a direction; what is off to the side is farther away than it is. */
  go(dx, dy) {
    if (!this.selected) return this.select(this.nodes[0], true);
    const from = this.selected.box;
    let best = null,
      least = Infinity;
    for (const node of this.nodes) {
      const [x, y] = [node.box.x - from.x, node.box.y - from.y],
        along = x * dx + y * dy,
        aside = Math.abs(x * dy) + Math.abs(y * dx);
      if (node === this.selected || node.isOpen || along < 4) continue;
      const distance = along + 2 * aside;
      if (distance < least) [best, least] = [node, distance];
    }
    if (best) this.select(best, true);
  }

  // What a link says of this view.

  state() {
    if (!this.tree) return {};
    return { open: this.tree.openGroups().map(({ id }) => id).join(' '), node: this.selected?.id ?? '' };
  }

  restore({ open, node }) {
    if (!this.tree || (open === undefined && node === undefined)) return;
    const named = (id) => (id === 'root' ? undefined : this.tree.nodes.get(id));
    this.tree.closeAll();
    for (const id of (open ?? '').split(' ')) if (named(id)?.kind === 'group') this.tree.open(named(id));
    const selected = named(node) ?? null;
    if (selected) this.tree.reveal(selected);
    this.layOut();
    this.fit();
    this.select(selected, true);
  }
}
