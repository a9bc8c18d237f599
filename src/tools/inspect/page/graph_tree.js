// The graph of an entry as a tree: ops in the calls of the source that they come from. A call that is open shows what is
// in it; one that is closed is a node.
//
// Ops without operands (numbers, sizes) and params are drawn beside each of their readers, so that a number that is used
// everywhere ties nothing together.

/** Calls with more ops of their own are cut into parts. */
const MOST_CHILDREN = 120,
  PART = 40,
  OPEN_AT_FIRST = 36,
  MOST_SHOWN = 220;  // what dagre lays out in half a second

/** "tensor<B x S x 128, f32>" as "B×S×128 f32". */
const shortType = (type) =>
  type.replace(/^tensor<(.*)>$/, (_, inner) => {
    const comma = inner.indexOf(', ');
    if (comma < 0) return inner;
    const [dims, dtype] = [inner.slice(0, comma), inner.slice(comma + 2)];
    return `${dims.replaceAll(' x ', '×')} ${dtype}`;
  });

const opName = (op) => op.name.replace(/^gir\./, '');

class ModelTree {
  constructor(inspection, program) {
    this.graph = program.graph;
    this.inlined = inspection.inlined;
    const lines = inspection.linesAfter(program, this.graph.unit, this.graph.state);
    /** The text and the place of an op. */
    this.lineOf = (op) => inspection.texts[lines[2 * this.graph.ops[op].line]].trim();
    this.placeOf = (op) => inspection.place(lines[2 * this.graph.ops[op].line + 1]);
    this.nodes = new Map();
    this.root = this.add({ id: 'root', kind: 'group', label: program.name });
    this.readers = this.graph.values.map(() => []);
    this.graph.ops.forEach((op, n) => op.in.forEach((value) => this.readers[value].push(n)));
    this.groups = new Map();
    this.regions = new Set(this.graph.ops.map((op) => op.around));
    this.graph.ops.forEach((op, n) => this.isSource(n) || this.addOp(op, n));
    this.simplify(this.root);
    this.nodes = new Map([...this.nodes].filter(([, node]) => node === this.root || this.isInTree(node)));
    this.addLeaves();
    this.measure(this.root);
    this.openFirst();
  }

  add(node, parent = null) {
    Object.assign(node, { parent, children: [], isOpen: node.id === 'root' });
    this.nodes.set(node.id, node);
    parent?.children.push(node);
    return node;
  }

  /** Made where it is read: it has no operands and no regions. */
  isSource(n) {
    const op = this.graph.ops[n];
    return op.in.length === 0 && op.out.length > 0 && !this.regions.has(n);
  }

  isInTree(node) {
    return node === this.root || (node.isKept && this.isInTree(node.parent));
  }

  addOp(op, n) {
    const around = op.around < 0 ? this.root : this.regionOf(op.around);
    const group = this.groupOf(op.call, around);
    this.add({ id: `op${n}`, kind: 'op', label: opName(op), op: n }, group);
  }

  /** What is in a loop or a branch. */
  regionOf(n) {
    return this.keep(`region${n}`, () => {
      const op = this.graph.ops[n];
      const parent = this.groupOf(op.call, op.around < 0 ? this.root : this.regionOf(op.around));
      return this.add({ id: `region${n}`, kind: 'group', label: `in ${opName(op)}` }, parent);
    });
  }

  groupOf(call, around) {
    if (call === 0) return around;
    const known = this.inlined[call - 1];
    return this.keep(`call${call}.${around.id}`, () => {
      const parent = this.groupOf(known.around, around);
      const id = this.nodes.has(`call${call}`) ? `call${call}.${around.id}` : `call${call}`;
      return this.add({ id, kind: 'group', label: known.name, file: known.file, line: known.line }, parent);
    });
  }

  keep(key, make) {
    if (!this.groups.has(key)) this.groups.set(key, make());
    return this.groups.get(key);
  }

  /** A call of one op is that op, one call alone is what is in it, and many ops come in parts. */
  simplify(group) {
    for (const child of [...group.children]) if (child.kind === 'group') this.simplify(child);
    const dissolve = (child) => {
      child.isKept = false;
      return child.children;
    };
    const isSmall = (child) => child.kind === 'group' && child.children.length < 2;
    group.children = group.children.flatMap((child) => (isSmall(child) ? dissolve(child) : [child]));
    const isAlone = (child) =>
      child.kind === 'group' && group.children.every((other) => other === child || other.label === 'return');
    const only = group === this.root && group.children.find(isAlone);
    if (only) group.children = group.children.flatMap((child) => (child === only ? dissolve(only) : [child]));
    if (group.children.length > MOST_CHILDREN) group.children = this.inParts(group);
    for (const child of group.children) Object.assign(child, { parent: group, isKept: true });
  }

  inParts(group) {
    const parts = [];
    for (let i = 0; i < group.children.length; i += PART) {
      const members = group.children.slice(i, i + PART);
      const label = `part ${parts.length + 1}`;
      const part = this.add({ id: `${group.id}.part${parts.length}`, kind: 'group', label });
      part.children = members;
      for (const member of members) Object.assign(member, { parent: part, isKept: true });
      parts.push(part);
    }
    return parts;
  }

  /** Inputs of the entry; params and sources beside their readers. */
  addLeaves() {
    this.maker = new Map();
    for (const node of [...this.nodes.values()]) {
      if (node.kind === 'op') for (const value of this.valuesMadeBy(node.op)) this.maker.set(value, node);
    }
    this.graph.values.forEach((value, n) => {
      if (value.op < 0 && !value.param) {
        this.maker.set(n, this.add({ id: `value${n}`, kind: 'input', label: value.name || 'input', value: n }, this.root));
      }
    });
    this.leafEdges = [];
    for (const node of [...this.nodes.values()]) if (node.kind === 'op') this.addLeavesOf(node);
  }

  /** Results, and what the regions of an op are given. */
  valuesMadeBy(n) {
    if (!this.made) {
      this.made = this.graph.ops.map(() => []);
      this.graph.values.forEach(({ op }, value) => op >= 0 && this.made[op].push(value));
    }
    return this.made[n];
  }

  addLeavesOf(node) {
    for (const value of new Set(this.graph.ops[node.op].in)) {
      if (this.maker.has(value)) continue;
      const { name, op, param } = this.graph.values[value];
      const made = param ? { kind: 'param', label: name } : { kind: 'source', label: this.sourceLabel(op), op };
      const leaf = this.add({ id: `value${value}@${node.id}`, value, ...made }, node.parent);
      this.leafEdges.push({ from: leaf, to: node, value });
    }
  }

  /** A tensor of one number is that number. */
  sourceLabel(op) {
    const number = /\bgir\.full \{value = ([^,}]+)/.exec(this.lineOf(op));
    return number ? number[1] : opName(this.graph.ops[op]);
  }

  /** How many ops each group has, and which kernels compute them. */
  measure(node) {
    if (node.kind !== 'group') {
      node.ops = node.kind === 'op' ? 1 : 0;
      node.kernels = new Set(node.kind === 'op' ? this.graph.ops[node.op].kernels : []);
      return node;
    }
    node.ops = 0;
    node.kernels = new Set();
    for (const child of node.children.map((each) => this.measure(each))) {
      node.ops += child.ops;
      for (const kernel of child.kernels) node.kernels.add(kernel);
    }
    return node;
  }

  /** Small graphs begin open: the calls in a call all are, or none. */
  openFirst() {
    const groupsIn = (nodes) => nodes.flatMap(({ children }) => children).filter(({ kind }) => kind === 'group');
    let shown = this.root.children.length;
    for (let level = groupsIn([this.root]); level.length; level = groupsIn(level)) {
      for (const group of level) shown += group.children.length;
      if (shown > OPEN_AT_FIRST) return;
      for (const group of level) this.open(group);
    }
  }

  /** Opens a group. Where too much would be shown, those that were opened longest ago close. */
  open(group) {
    group.isOpen = true;
    group.openedAt = this.clock = (this.clock ?? 0) + 1;
    const around = new Set();
    for (let at = group; at; at = at.parent) around.add(at);
    const others = this.openGroups().filter((each) => !around.has(each));
    others.sort((a, b) => a.openedAt - b.openedAt);
    while (others.length && this.visible().nodes.length > MOST_SHOWN) others.shift().isOpen = false;
  }

  openGroups() {
    return [...this.nodes.values()].filter((node) => node.isOpen && node !== this.root);
  }

  closeAll() {
    for (const group of this.openGroups()) group.isOpen = false;
  }

  /** The node that stands for a node: itself, or the outermost closed group that it is in. */
  shownFor(node) {
    let shown = node;
    for (let at = node.parent; at; at = at.parent) if (!at.isOpen) shown = at;
    return shown;
  }

  /** Nodes in sight, groups before what is in them, and the edges between those that are not open. */
  visible() {
    const nodes = [];
    const walk = (group) => {
      for (const child of group.children) {
        nodes.push(child);
        if (child.kind === 'group' && child.isOpen) walk(child);
      }
    };
    walk(this.root);
    return { nodes, edges: this.visibleEdges() };
  }

  /** How many open groups are one in the other, from this one on. */
  levelsOf(group) {
    const inner = group.children.filter((child) => child.isOpen).map((child) => this.levelsOf(child));
    return 1 + Math.max(0, ...inner);
  }

  visibleEdges() {
    const edges = new Map();
    const add = (from, to, value) => {
      const [a, b] = [this.shownFor(from), this.shownFor(to)];
      if (a === b) return;
      const key = `${a.id} ${b.id}`;
      if (!edges.has(key)) edges.set(key, { from: a, to: b, values: new Set() });
      edges.get(key).values.add(value);
    };
    for (const node of this.nodes.values()) {
      if (node.kind !== 'op') continue;
      for (const value of this.graph.ops[node.op].in) if (this.maker.has(value)) add(this.maker.get(value), node, value);
    }
    for (const { from, to, value } of this.leafEdges) add(from, to, value);
    return [...edges.values()];
  }

  /** Opens all groups around a node. */
  reveal(node) {
    for (let at = node.parent; at !== this.root; at = at.parent) this.open(at);
  }
}
