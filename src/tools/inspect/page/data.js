// The inspection that the compiler wrote (docs/inspector.md), unpacked, and the texts that follow from it by edits.

async function readInspection() {
  const packed = atob(document.getElementById('data').textContent.trim());
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Inspection(await new Response(text).json());
}

const LEVELS = ['graph', 'schedule', 'tile', 'target'];

/** The line of a place and its file as one number, by which listings are linked. */
const keyOf = (file, line) => file * 0x100000 + line;

/** Lines are pairs of numbers: text, place. An edit is [at, removed, then the lines that are added]. */
function applyEdits(lines, edits) {
  const out = [];
  let at = 0;
  for (const edit of edits) {
    for (; at < 2 * edit[0]; at++) out.push(lines[at]);
    for (let i = 2; i < edit.length; i++) out.push(edit[i]);
    at = 2 * (edit[0] + edit[1]);
  }
  for (; at < lines.length; at++) out.push(lines[at]);
  return out;
}

class Inspection {
  constructor(data) {
    Object.assign(this, data);
    this.fileTexts = this.files.map((file) =>
      file.text === undefined ? null : file.text.replace(/\n$/, '').split('\n'),
    );
    this.graphs = this.modules.filter((module) => module.target === null);
    this.programs = this.modules.filter((module) => module.target !== null);
  }

  /** Keys of the lines that a line runs by calls, and by calls in those. */
  linesCalledBy(key) {
    return this.follow([key], (call, from) => (call.key === from ? call.body : []));
  }

  /** Keys of the lines by whose calls a line is run. */
  linesCalling(key) {
    return this.follow([key], (call, from) => (call.first <= from && from <= call.last ? [call.key] : []));
  }

  follow(from, next) {
    if (!this.callSites) {
      this.callSites = [];
      for (let i = 0; i < this.calls.length; i += 5) {
        const [file, line, calleeFile, begin, end] = this.calls.slice(i, i + 5),
          first = keyOf(calleeFile, begin);
        const body = Array.from({ length: end - begin + 1 }, (_, n) => first + n);
        this.callSites.push({ key: keyOf(file, line), first, last: keyOf(calleeFile, end), body });
      }
    }
    const found = new Set(),
      waiting = [...from];
    while (waiting.length) {
      const key = waiting.pop();
      for (const call of this.callSites) {
        for (const reached of next(call, key)) {
          if (found.has(reached)) continue;
          found.add(reached);
          waiting.push(reached);
        }
      }
    }
    for (const key of from) found.delete(key);
    return found;
  }

  /** Of place n, from 1: file, line, column and length in bytes. */
  place(n) {
    if (n === 0) return null;
    const [file, line, column, length] = this.places.slice(4 * (n - 1), 4 * n);
    return { file, line, column, length, key: keyOf(file, line) };
  }

  /** Units in their order after state `s` of a module: [{name, lines}]. */
  unitsAfter(module, s) {
    const units = new Map();
    let order = [];
    for (let i = 0; i <= s; i++) {
      const state = module.states[i];
      for (const change of state.changes) {
        if (change.gone) units.delete(change.unit);
        else units.set(change.unit, applyEdits(units.get(change.unit) || [], change.edits));
      }
      if (state.order) order = state.order;
    }
    return order.map((unit) => ({ name: module.units[unit], lines: units.get(unit) || [] }));
  }

  /** Lines of one unit after state `s`; none before it is there. */
  linesAfter(module, unit, s) {
    let lines = [];
    for (let i = 0; i <= s; i++) {
      for (const change of module.states[i].changes) {
        if (change.unit === unit) lines = change.gone ? [] : applyEdits(lines, change.edits);
      }
    }
    return lines;
  }

  /** The last state of a module at a level, or -1. */
  lastStateAt(module, level) {
    return module.states.findLastIndex((state) => state.level === level);
  }

  /** Kernels with their code for a target, of the program's units alone. */
  codeOf(program) {
    const code = this.code.find((c) => c.target === program.target);
    if (!code) return null;
    const byName = new Map(code.kernels.map((kernel) => [kernel.name, kernel]));
    const units = [];
    for (const name of program.units) {
      const kernel = byName.get(name);
      if (kernel)
        units.push({
          name,
          sameAs: kernel.same_as,
          lines: (kernel.same_as ? byName.get(kernel.same_as) : kernel).lines,
        });
    }
    return { kind: code.kind, units };
  }

  /** What a kernel of the target that is shown is called in the source: its function, or the text that it computes. */
  sourceNameOf(kernel) {
    this.sourceNames ??= new Map(
      this.report.targets.map(({ target, kernels }) => [target, new Map(kernels.map(({ name, title }) => [name, title]))]),
    );
    return this.sourceNames.get(this.target)?.get(kernel) || '';
  }

  /** Both names of a kernel. */
  titleOf(kernel) {
    const words = this.sourceNameOf(kernel);
    return words && words !== kernel ? `${words} · ${kernel}` : kernel;
  }

  reportOf(program) {
    const target = this.report.targets.find((t) => t.target === program.target);
    return target && { target, entry: target.entries.find((entry) => entry.name === program.name) };
  }
}
