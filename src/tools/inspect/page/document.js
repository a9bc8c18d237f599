// The text of a stage in a listing: lines, each with its source place and its kernel.

/** A text of several units, one after the other with an empty line between them. */
class Document {
  constructor(inspection, units) {
    this.texts = [];
    this.keys = [];
    this.columns = [];
    this.units = [];
    for (const unit of units) {
      if (this.texts.length) this.add('', -1, 0, this.units.at(-1));
      const title = inspection.sourceNameOf(unit.name);
      if (title && title !== unit.name) this.add(`# ${title}`, -1, 0, unit.name);
      if (unit.sameAs) this.add(`# ${unit.name} shares the code of ${inspection.titleOf(unit.sameAs)}:`, -1, 0, unit.name);
      for (let i = 0; i < unit.lines.length; i += 2) {
        const place = inspection.place(unit.lines[i + 1]);
        this.add(inspection.texts[unit.lines[i]], place ? place.key : -1, place ? place.column : 0, unit.name);
      }
    }
  }

  static ofSource(inspection, file) {
    const document = new Document(inspection, []);
    inspection.fileTexts[file].forEach((text, i) => document.add(text, keyOf(file, i + 1), 0, null));
    return document;
  }

  add(text, key, column, unit) {
    this.texts.push(text);
    this.keys.push(key);
    this.columns.push(column);
    this.units.push(unit);
  }

  get length() {
    return this.texts.length;
  }
  text(i) {
    return this.texts[i];
  }

  linesOf(key) {
    if (!this.byKey) {
      this.byKey = new Map();
      this.keys.forEach((k, i) => {
        if (k < 0) return;
        if (!this.byKey.has(k)) this.byKey.set(k, []);
        this.byKey.get(k).push(i);
      });
    }
    return this.byKey.get(key) || [];
  }

  /** Lines that launch: [{line, key, kernels}]. */
  launches() {
    return (this.launchLines ??= this.texts.flatMap((text, line) =>
      /\bhost\.launch\b/.test(text)
        ? [{ line, key: this.keys[line], kernels: [...text.matchAll(/@([\w.$]+)/g)].map((m) => m[1]) }]
        : [],
    ));
  }
}
