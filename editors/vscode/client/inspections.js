// What the compiler says of a file, kept until the file is another.

'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const { run } = require('./programs.js');
const { Inspection } = require('./ir_model.js');

class Inspections {
  constructor() {
    this.known = new Map(); // by file: {key, promise}
  }

  /** The inspection of a saved file. Fails with the compiler's first line where it does not compile. */
  of(compiler, args, file) {
    const key = [compiler, ...args, fs.statSync(file).mtimeMs].join('\0');
    const known = this.known.get(file);
    if (known?.key === key) return known.promise;
    const promise = this.read(compiler, args, file);
    this.known.set(file, { key, promise });
    return promise;
  }

  async read(compiler, args, file) {
    const folder = await fs.promises.mkdtemp(path.join(os.tmpdir(), 'tessera-ir-'));
    try {
      const data = path.join(folder, 'inspection.json');
      const result = await run(compiler, [...args, '--inspect', data], { cwd: path.dirname(file) });
      if (result.code !== 0) throw new Error(result.errors.split('\n')[0] || `${compiler} ended without a word`);
      return new Inspection(JSON.parse(await fs.promises.readFile(data, 'utf8')));
    } finally {
      await fs.promises.rm(folder, { recursive: true, force: true });
    }
  }
}

/** The path of a file of an inspection; null where it is in the compiler alone, as the standard library's are. */
function pathOf(inspection, index, input) {
  if (index === 0) return input;
  const file = path.resolve(path.dirname(input), inspection.files[index].name);
  return fs.existsSync(file) ? file : null;
}

module.exports = { Inspections, pathOf };
