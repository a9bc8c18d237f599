// Places and live ranges of temporaries, drawn to scale where sizes are known. Steps of the plan go
// to the right, addresses down; a temporary is the rectangle that it takes up.

const PLAN = { left: 74, right: 16, top: 12, bottom: 40, width: 900, height: 360, row: 16, profile: 76 };

/** Where steps and addresses are on the screen. Without sizes each temporary has a row. */
class PlanScales {
  constructor(entry) {
    const { temporaries } = entry.memory,
      last = [...temporaries, ...entry.launches];
    this.toScale = hasSizes(entry);
    this.steps = 1 + Math.max(...last.map((one) => one.last_step ?? one.step));
    this.end = this.toScale ? Math.max(1, entry.memory.arena_bytes) : temporaries.length;
    this.height = this.toScale ? PLAN.height : PLAN.top + PLAN.bottom + temporaries.length * PLAN.row;
  }

  x(step) {
    return PLAN.left + (step / this.steps) * (PLAN.width - PLAN.left - PLAN.right);
  }

  y(at) {
    return PLAN.top + (at / this.end) * (this.height - PLAN.top - PLAN.bottom);
  }

  /** The rectangle of temporary i. */
  box(temp, i) {
    const x = this.x(temp.first_step),
      width = this.x(temp.last_step + 1) - x;
    if (!this.toScale) return { x, y: this.y(i) + 2, width, height: PLAN.row - 4 };
    const y = this.y(temp.offset);
    return { x, y, width, height: Math.max(1, this.y(temp.offset + temp.bytes) - y) };
  }
}

const planTick = (x, y, anchor, text) => svg('text', { class: 'tick', x, y, 'text-anchor': anchor }, text);

function planGrid(scales) {
  const parts = [],
    every = Math.max(1, Math.ceil(scales.steps / 20)),
    bottom = scales.height - PLAN.bottom;
  for (let step = 0; step < scales.steps; step += every) {
    const x = scales.x(step);
    parts.push(
      svg('line', { class: 'grid', x1: x, x2: x, y1: PLAN.top, y2: bottom }),
      planTick((x + scales.x(step + 1)) / 2, bottom + 16, 'middle', String(step)),
    );
  }
  for (const part of scales.toScale ? [0, 0.25, 0.5, 0.75, 1] : []) {
    parts.push(planTick(PLAN.left - 8, scales.y(part * scales.end) + 4, 'end', bytesText(part * scales.end)));
  }
  const middle = (scales.x(0) + scales.x(scales.steps)) / 2;
  return [
    ...parts,
    svg('text', { class: 'axis', x: middle, y: scales.height - 6, 'text-anchor': 'middle' }, 'steps of the plan'),
  ];
}

function planTemporary(scales, temp, i) {
  if (temp.bytes === 0) return [];
  const { x, y, width, height } = scales.box(temp, i);
  const size = scales.toScale ? `, ${bytesText(temp.bytes)}` : '';
  const words = `${temp.name} ${temp.type}${size}, steps ${temp.first_step} to ${temp.last_step}`;
  const shape = {
    x: x + 0.5,
    y: y + 0.5,
    width: Math.max(1, width - 1),
    height: Math.max(1, height - 1),
    rx: Math.min(3, height / 4),
  };
  const parts = [svg('rect', { class: `temp hue-${i % 6}`, ...shape }, title(words))];
  if (!scales.toScale) parts.push(planTick(PLAN.left - 8, y + 10, 'end', temp.name));
  else if (height > 12 && width > 46)
    parts.push(svg('text', { class: 'name', x: x + 6, y: y + Math.min(height / 2 + 4, 16) }, temp.name));
  return parts;
}

/** Bytes in use, step by step. */
function planProfile(scales, memory) {
  const peak = Math.max(1, memory.peak_bytes);
  const y = (bytes) => PLAN.profile - 8 - (bytes / peak) * (PLAN.profile - 24);
  const steps = memory.live_bytes.slice(0, scales.steps);
  const path = steps
    .map((bytes, step) => `${step ? 'L' : 'M'}${scales.x(step)} ${y(bytes)}H${scales.x(step + 1)}`)
    .join('');
  const words = `Bytes in use, at most ${bytesText(peak)} in step ${memory.peak_step}`;
  return svg(
    'svg',
    { viewBox: `0 0 ${PLAN.width} ${PLAN.profile}`, role: 'img', 'aria-label': words },
    svg('path', { class: 'live', d: `${path}V${y(0)}H${scales.x(0)}Z` }),
    planTick(PLAN.left - 8, y(peak) + 4, 'end', bytesText(peak)),
    planTick(PLAN.left - 8, y(0) + 4, 'end', 'in use'),
  );
}

function planPicture(entry) {
  const { memory } = entry,
    temps = memory.temporaries,
    scales = new PlanScales(entry);
  const words = `When each of ${count(temps.length, 'temporary', 'temporaries')} lives; the table below says the same`;
  return el(
    'figure',
    {},
    scales.toScale ? planProfile(scales, memory) : '',
    svg(
      'svg',
      { viewBox: `0 0 ${PLAN.width} ${scales.height}`, role: 'img', 'aria-label': words },
      ...planGrid(scales),
      ...temps.flatMap((temp, i) => planTemporary(scales, temp, i)),
    ),
    el(
      'figcaption',
      {},
      scales.toScale
        ? 'Across: steps of the plan. Down: addresses in the arena.'
        : 'Across: steps of the plan. Each row is a temporary.',
    ),
  );
}

class MemoryView {
  constructor(root, inspection) {
    Object.assign(this, { root, inspection });
  }

  show(program) {
    const found = this.inspection.reportOf(program),
      page = el('div', { class: 'page' });
    this.root.replaceChildren(page);
    if (!found?.entry) {
      page.append(
        el(
          'p',
          { class: 'hint' },
          found
            ? 'A kernel that stands for itself has no plan: its caller owns all memory.'
            : 'The bundle has no plan for this target.',
        ),
      );
      return;
    }
    const { entry } = found;
    page.append(hasSizes(entry) ? this.figures(entry) : openSizes(entry));
    if (entry.memory.temporaries.length === 0) {
      page.append(el('p', { class: 'hint' }, 'No temporary is needed: each kernel writes where its result belongs.'));
      return;
    }
    page.append(planPicture(entry), this.temporaries(entry));
  }

  figures(entry) {
    const { memory } = entry,
      sum = memory.temporaries.reduce((total, temp) => total + temp.bytes, 0);
    const saved =
      sum > memory.arena_bytes
        ? `${bytesText(sum)} of temporaries share ${bytesText(memory.arena_bytes)}: ` +
          'a temporary reuses the memory of those whose live ranges have ended.'
        : memory.temporaries.length
          ? 'The live ranges of its temporaries overlap, so none reuses the memory of another.'
          : 'It needs no memory besides.';
    return el(
      'div',
      {},
      lead(entry, saved),
      el(
        'div',
        { class: 'figures' },
        figure(bytesText(memory.arena_bytes), 'arena of temporaries'),
        memory.peak_bytes ? figure(bytesText(memory.peak_bytes), `in use at most, in step ${memory.peak_step}`) : '',
        figure(bytesText(memory.input_bytes), 'inputs'),
        figure(bytesText(memory.parameter_bytes), 'parameters'),
        figure(bytesText(memory.output_bytes), 'outputs'),
        figure(bytesText(memory.constant_bytes), 'constants'),
      ),
    );
  }

  temporaries(entry) {
    const names = ['first step', 'last step', ...(hasSizes(entry) ? ['bytes', 'offset'] : [])];
    const columns = [{ name: 'temporary' }, { name: 'type' }, ...names.map((name) => ({ name, isNumber: true }))];
    return table(
      'Temporaries',
      columns,
      entry.memory.temporaries.map((temp) => {
        const numbers = [temp.first_step, temp.last_step, ...(hasSizes(entry) ? [temp.bytes, temp.offset] : [])];
        return {
          cells: [
            el('code', {}, temp.name),
            el('code', {}, temp.type),
            ...numbers.map((n) => n.toLocaleString('en')),
          ],
        };
      }),
    );
  }
}
