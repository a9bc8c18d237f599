// Which lines of IR and which lines of sources belong together. Lines count from 0, as the editor's do.

'use strict';

class IrLinks {
  /** `lines` has for each line of the text {uri, line} or null. */
  constructor(lines) {
    this.lines = lines;
    this.bySource = new Map();
    lines.forEach((place, i) => {
      if (!place) return;
      const key = `${place.uri}#${place.line}`;
      if (!this.bySource.has(key)) this.bySource.set(key, []);
      this.bySource.get(key).push(i);
    });
  }

  /** The first line that has a place, -1 where none has. */
  first() {
    return this.lines.findIndex(Boolean);
  }

  /** {uri, line} of a line of IR, or null. */
  sourceOf(line) {
    return this.lines[line] || null;
  }

  /** Whether a line is of that source. */
  isFrom(uri) {
    return this.lines.some((place) => place?.uri === uri);
  }

  irOf(uri, line) {
    return this.bySource.get(`${uri}#${line}`) || [];
  }
}

/** Neighbouring lines as one range each: [[first, last]]. */
function ranges(lines) {
  const out = [];
  for (const line of lines) {
    if (out.length && out.at(-1)[1] + 1 === line) out.at(-1)[1] = line;
    else out.push([line, line]);
  }
  return out;
}

module.exports = { IrLinks, ranges };
