// A stage of a program as a text whose lines know their places, of the data that `tesserac --inspect` writes
// (docs/inspector.md).

'use strict';
const { Inspection, keyOf } = require('../../../src/tools/inspect/page/data.js');

/**
 * The program that is shown for a line of the source, from 0: an entry or a kernel, or null where nothing was compiled.
 * Of several targets the last is taken, which is the one with the most instructions.
 */
function programAt(inspection, line) {
  const programs = inspection.programs.filter((program) => program.target === inspection.programs.at(-1).target);
  const key = keyOf(0, line + 1);
  const begins = new Map(); // the last line at or before this one where a program begins
  for (const program of programs) {
    const first = Math.min(
      ...firstPlaces(inspection, program)
        .filter((place) => place.file === 0)
        .map((place) => place.line),
    );
    if (first <= line + 1) begins.set(program, first);
  }
  const enclosing = [...begins].sort((a, b) => b[1] - a[1])[0]?.[0];
  const reached = programs.filter((program) => hasKey(inspection, program, key));
  return reached.includes(enclosing) ? enclosing : reached[0] || enclosing || programs[0] || null;
}

/** Where the function of a program is declared. */
function firstPlaces(inspection, program) {
  return inspection
    .unitsAfter(program, 0)
    .filter((unit) => unit.name === program.name)
    .map((unit) => inspection.place(unit.lines[1]))
    .filter(Boolean);
}

function hasKey(inspection, program, key) {
  return inspection.unitsAfter(program, 0).some((unit) => {
    for (let i = 1; i < unit.lines.length; i += 2) {
      if (inspection.place(unit.lines[i])?.key === key) return true;
    }
    return false;
  });
}

/**
 * The text of a stage (graph, schedule, tile, target or code) of a program, and for each of its lines {file, line} or
 * null: `file` is an index of `files`, `line` counts from 0.
 */
function stageOf(inspection, program, stage) {
  const state = inspection.lastStateAt(program, stage);
  const units =
    stage === 'code'
      ? inspection.codeOf(program)?.units || []
      : state < 0
        ? []
        : inspection.unitsAfter(program, state);
  const text = [],
    lines = [];
  for (const unit of units) {
    if (text.length) {
      text.push('');
      lines.push(null);
    }
    for (let i = 0; i < unit.lines.length; i += 2) {
      const place = inspection.place(unit.lines[i + 1]);
      text.push(inspection.texts[unit.lines[i]]);
      lines.push(place && { file: place.file, line: place.line - 1 });
    }
  }
  return { text: text.join('\n') + '\n', lines };
}

module.exports = { Inspection, programAt, stageOf };
