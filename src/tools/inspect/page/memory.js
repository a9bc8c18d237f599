// Where temporaries lie and when, drawn to scale where sizes are known.

class MemoryView {
  constructor(root, inspection) {
    Object.assign(this, { root, inspection });
  }

  show(program) {
    const found = this.inspection.reportOf(program);
    const page = el('div', { class: 'page' });
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
    const { entry } = found,
      memory = entry.memory;
    if (hasSizes(entry)) page.append(this.figures(entry));
    else page.append(openSizes(entry));
    if (memory.temporaries.length === 0) {
      page.append(
        el('p', { class: 'hint' }, 'No temporary is needed: each kernel writes where its result belongs.'),
      );
      return;
    }
    page.append(this.picture(entry), this.temporaries(memory));
  }

  figures(entry) {
    const memory = entry.memory;
    const sum = memory.temporaries.reduce((total, temp) => total + temp.bytes, 0);
    return el(
      'div',
      {},
      el(
        'p',
        { class: 'lead' },
        el('b', {}, entry.name),
        sizesOf(entry) ? ` at ${sizesOf(entry)}` : '',
        el(
          'span',
          { class: 'muted' },
          sum > memory.arena_bytes
            ? `. ${bytesText(sum)} of temporaries share ${bytesText(memory.arena_bytes)}, as one takes the place of those that nobody reads any more.`
            : '. Its temporaries are as below.',
        ),
      ),
      el(
        'div',
        { class: 'figures' },
        figure(bytesText(memory.arena_bytes), 'arena of temporaries'),
        figure(bytesText(memory.peak_bytes), `in use at most, in step ${memory.peak_step}`),
        figure(bytesText(memory.input_bytes), 'inputs'),
        figure(bytesText(memory.parameter_bytes), 'parameters'),
        figure(bytesText(memory.output_bytes), 'outputs'),
        figure(bytesText(memory.constant_bytes), 'constants'),
      ),
    );
  }

  /** Steps go to the right, addresses down; each temporary is the rectangle that it takes up. */
  picture(entry) {
    const temps = entry.memory.temporaries,
      toScale = hasSizes(entry);
    const steps =
      Math.max(...temps.map((temp) => temp.last_step), ...entry.launches.map((launch) => launch.step)) + 1;
    const box = { left: 74, right: 16, top: 12, bottom: 40, width: 900 };
    const rowHeight = 16,
      height = toScale ? 360 : box.top + box.bottom + temps.length * rowHeight;
    const sx = (step) => box.left + (step / steps) * (box.width - box.left - box.right);
    const end = toScale ? Math.max(1, entry.memory.arena_bytes) : temps.length;
    const sy = (at) => box.top + (at / end) * (height - box.top - box.bottom);
    const parts = [];
    const every = Math.max(1, Math.ceil(steps / 20));
    for (let step = 0; step < steps; step += every) {
      parts.push(
        svg('line', { class: 'grid', x1: sx(step), x2: sx(step), y1: sy(0), y2: sy(end) }),
        svg(
          'text',
          {
            class: 'tick',
            x: (sx(step) + sx(step + 1)) / 2,
            y: height - box.bottom + 16,
            'text-anchor': 'middle',
          },
          String(step),
        ),
      );
    }
    if (toScale) {
      for (const part of [0, 0.25, 0.5, 0.75, 1])
        parts.push(
          svg(
            'text',
            { class: 'tick', x: box.left - 8, y: sy(part * end) + 4, 'text-anchor': 'end' },
            bytesText(part * end),
          ),
        );
    }
    parts.push(
      svg(
        'text',
        { class: 'axis', x: (sx(0) + sx(steps)) / 2, y: height - 6, 'text-anchor': 'middle' },
        'steps of the plan',
      ),
    );
    temps.forEach((temp, i) => {
      if (temp.bytes === 0) return;
      const y = toScale ? sy(temp.offset) : sy(i) + 2,
        h = toScale ? Math.max(1, sy(temp.offset + temp.bytes) - sy(temp.offset)) : rowHeight - 4;
      const x = sx(temp.first_step),
        w = sx(temp.last_step + 1) - x;
      const words = `${temp.name} ${temp.type}${toScale ? ', ' + bytesText(temp.bytes) : ''}, steps ${temp.first_step} to ${temp.last_step}`;
      parts.push(
        svg(
          'rect',
          {
            class: `temp hue-${i % 6}`,
            x: x + 0.5,
            y: y + 0.5,
            width: Math.max(1, w - 1),
            height: Math.max(1, h - 1),
            rx: Math.min(3, h / 4),
          },
          title(words),
        ),
      );
      if (h > 12 && w > 46)
        parts.push(svg('text', { class: 'name', x: x + 6, y: y + Math.min(h / 2 + 4, 16) }, temp.name));
    });
    const picture = el(
      'figure',
      {},
      svg(
        'svg',
        {
          viewBox: `0 0 ${box.width} ${height}`,
          role: 'img',
          'aria-label': `When each of ${count(temps.length, 'temporary', 'temporaries')} lives; the table below says the same`,
        },
        ...parts,
      ),
      el(
        'figcaption',
        {},
        toScale
          ? 'Across: steps of the plan. Down: addresses in the arena.'
          : 'Across: steps of the plan. Each row is a temporary.',
      ),
    );
    if (toScale) picture.prepend(this.profile(entry.memory, steps, box));
    return picture;
  }

  /** Bytes in use, step by step. */
  profile(memory, steps, box) {
    const height = 76,
      peak = Math.max(1, memory.peak_bytes);
    const sx = (step) => box.left + (step / steps) * (box.width - box.left - box.right);
    const sy = (bytes) => height - 8 - (bytes / peak) * (height - 24);
    const live = memory.live_bytes.slice(0, steps);
    const path =
      live.map((bytes, step) => `${step ? 'L' : 'M'}${sx(step)} ${sy(bytes)}H${sx(step + 1)}`).join('') +
      `V${sy(0)}H${sx(0)}Z`;
    return svg(
      'svg',
      {
        viewBox: `0 0 ${box.width} ${height}`,
        role: 'img',
        'aria-label': `Bytes in use, at most ${bytesText(peak)} in step ${memory.peak_step}`,
      },
      svg('path', { class: 'live', d: path }),
      svg('text', { class: 'tick', x: box.left - 8, y: sy(peak) + 4, 'text-anchor': 'end' }, bytesText(peak)),
      svg('text', { class: 'tick', x: box.left - 8, y: sy(0) + 4, 'text-anchor': 'end' }, 'in use'),
    );
  }

  temporaries(memory) {
    const columns = [
      { name: 'temporary' },
      { name: 'type' },
      { name: 'first step', isNumber: true },
      { name: 'last step', isNumber: true },
      { name: 'bytes', isNumber: true },
      { name: 'offset', isNumber: true },
    ];
    return table(
      'Temporaries',
      columns,
      memory.temporaries.map((temp) => ({
        cells: [
          el('code', {}, temp.name),
          el('code', {}, temp.type),
          String(temp.first_step),
          String(temp.last_step),
          temp.bytes?.toLocaleString('en'),
          temp.offset?.toLocaleString('en'),
        ],
      })),
    );
  }
}
