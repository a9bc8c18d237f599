// What kernels cost and where temporaries lie, drawn from the report of the bundle (docs/debugging.md has the meaning of
// each figure).

const svg = (name, attributes, ...children) => el('svg:' + name, attributes, ...children);
const title = (text) => svg('title', {}, text);

/** A table whose first column names the rows. Cells are texts or nodes; numbers stand at the right. */
function table(caption, columns, rows) {
  return el(
    'div',
    { class: 'scroll' },
    el(
      'table',
      {},
      el('caption', {}, caption),
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          ...columns.map((c) => el('th', { scope: 'col', class: c.isNumber ? 'number' : null }, c.name)),
        ),
      ),
      el(
        'tbody',
        {},
        ...rows.map((row) =>
          el(
            'tr',
            { id: row.id },
            ...row.cells.map((cell, i) =>
              el(
                i ? 'td' : 'th',
                { scope: i ? null : 'row', class: columns[i].isNumber ? 'number' : null },
                cell ?? '–',
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

const figure = (value, name) => el('div', { class: 'figure' }, el('b', {}, value), el('span', {}, name));

/** What a page says of an entry whose sizes are not known. */
function openSizes(entry) {
  const dims = Object.keys(entry.dims);
  return el(
    'p',
    { class: 'hint' },
    'Sizes are open, so figures are formulas and there is no picture to scale. Compile with ',
    el('code', {}, `--dims ${dims.map((dim) => `${dim}=…`).join(',')}`),
    ' to see numbers.',
  );
}

const sizesOf = (entry) =>
  Object.entries(entry.dims)
    .filter(([, size]) => size !== null)
    .map(([dim, size]) => `${dim} = ${size.toLocaleString('en')}`)
    .join(', ');
const hasSizes = (entry) => entry.memory.arena_bytes !== undefined;

class KernelView {
  constructor(root, inspection, onKernel) {
    Object.assign(this, { root, inspection, onKernel });
  }

  show(program) {
    const found = this.inspection.reportOf(program);
    const page = el('div', { class: 'page' });
    this.root.replaceChildren(page);
    if (!found) {
      page.append(el('p', { class: 'hint' }, 'The bundle has no report for this target.'));
      return;
    }
    const { target, entry } = found;
    const names = entry ? new Set(entry.launches.map((launch) => launch.kernel)) : new Set([program.name]);
    const kernels = target.kernels.filter((kernel) => names.has(kernel.name));
    if (entry) {
      if (hasSizes(entry))
        page.append(this.figures(entry, target), this.roofline(entry, target), this.launches(entry));
      else page.append(openSizes(entry));
    }
    page.append(this.kernels(kernels, target));
  }

  link(name) {
    return el(
      'button',
      { class: 'link code', onclick: () => this.onKernel(name), title: 'See its lowering' },
      name,
    );
  }

  figures(entry, target) {
    const sum = (of) =>
      entry.launches.reduce((total, launch) => total + (of(launch) || 0) * (launch.times ?? 1), 0);
    const time = sum((launch) => launch.estimate_us);
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
          `. Times are the least that moving the bytes and doing the operations takes at the peak figures of ${target.figures.of}.`,
        ),
      ),
      el(
        'div',
        { class: 'figures' },
        figure(timeText(time), 'at the roofline'),
        figure(
          siText(
            sum((l) => l.flops),
            'FLOP',
          ),
          'operations',
        ),
        figure(bytesText(sum((l) => l.bytes_read + l.bytes_written)), 'moved'),
        figure(bytesText(entry.memory.arena_bytes), 'of temporaries'),
        figure(String(entry.launches.length), entry.launches.length === 1 ? 'launch' : 'launches'),
      ),
    );
  }

  /** Operations a second over operations for each byte, both in powers of ten. */
  roofline(entry, target) {
    const points = entry.launches
      .filter((launch) => launch.flops > 0 && launch.intensity > 0 && launch.estimate_us > 0)
      .map((launch) => ({
        launch,
        x: launch.intensity,
        y: launch.flops / launch.estimate_us / 1e3,
        time: launch.estimate_us * (launch.times ?? 1),
      }));
    if (points.length === 0)
      return el(
        'p',
        { class: 'hint' },
        'No launch has operations that are known beforehand, so there is no roofline to draw.',
      );
    const { f32_gflops: f32, memory_gbytes: bandwidth, products_gflops: products } = target.figures;
    const ceilings = new Map();
    for (const [name, value] of [
      ['f32', f32],
      ...Object.entries(products).map(([dtype, gflops]) => [`products of ${dtype}`, gflops]),
    ]) {
      if (value >= f32) ceilings.set(value, ceilings.has(value) ? `${ceilings.get(value)}, ${name}` : name);
    }
    const top = Math.max(...ceilings.keys());
    const decade = (value, up) => 10 ** (up ? Math.ceil(Math.log10(value)) : Math.floor(Math.log10(value)));
    const [x0, x1] = [
      decade(Math.min(0.1, ...points.map((p) => p.x)), false),
      decade(Math.max(1000, (top / bandwidth) * 2, ...points.map((p) => p.x)), true),
    ];
    const [y0, y1] = [
      decade(Math.min(bandwidth * 0.1, ...points.map((p) => p.y)) * 0.8, false),
      decade(top * 1.2, true),
    ];
    const box = { left: 64, right: 20, top: 16, bottom: 44, width: 900, height: 380 };
    const sx = (x) =>
      box.left + (Math.log10(x / x0) / Math.log10(x1 / x0)) * (box.width - box.left - box.right);
    const sy = (y) =>
      box.height -
      box.bottom -
      (Math.log10(y / y0) / Math.log10(y1 / y0)) * (box.height - box.top - box.bottom);
    const parts = [];
    for (let x = x0; x <= x1 * 1.01; x *= 10) {
      parts.push(
        svg('line', { class: 'grid', x1: sx(x), x2: sx(x), y1: sy(y0), y2: sy(y1) }),
        svg(
          'text',
          { class: 'tick', x: sx(x), y: sy(y0) + 18, 'text-anchor': 'middle' },
          x < 1 ? String(Number(x.toPrecision(1))) : siText(x),
        ),
      );
    }
    for (let y = y0; y <= y1 * 1.01; y *= 10) {
      parts.push(
        svg('line', { class: 'grid', x1: sx(x0), x2: sx(x1), y1: sy(y), y2: sy(y) }),
        svg('text', { class: 'tick', x: sx(x0) - 8, y: sy(y) + 4, 'text-anchor': 'end' }, siText(y * 1e9)),
      );
    }
    parts.push(
      svg(
        'text',
        { class: 'axis', x: (sx(x0) + sx(x1)) / 2, y: box.height - 6, 'text-anchor': 'middle' },
        'operations for each byte that moves',
      ),
      svg(
        'text',
        {
          class: 'axis',
          x: -(sy(y0) + sy(y1)) / 2,
          y: 14,
          transform: 'rotate(-90)',
          'text-anchor': 'middle',
        },
        'operations a second',
      ),
    );
    const clip = (x) => Math.max(x0, Math.min(x1, x));
    for (const [gflops, name] of ceilings) {
      parts.push(
        svg('line', {
          class: 'roof',
          x1: sx(clip(gflops / bandwidth)),
          x2: sx(x1),
          y1: sy(gflops),
          y2: sy(gflops),
        }),
        svg('text', { class: 'tick', x: sx(x1) - 4, y: sy(gflops) - 6, 'text-anchor': 'end' }, name),
      );
    }
    const low = Math.max(x0, y0 / bandwidth),
      high = top / bandwidth;
    parts.push(
      svg('line', { class: 'roof', x1: sx(low), y1: sy(low * bandwidth), x2: sx(high), y2: sy(top) }),
      svg(
        'text',
        {
          class: 'tick',
          x: sx(low * 1.6),
          y: sy(low * 1.6 * bandwidth) - 10,
          transform: `rotate(${-this.slope(sx, sy, low, bandwidth)} ${sx(low * 1.6)} ${sy(low * 1.6 * bandwidth) - 10})`,
        },
        `memory, ${siText(bandwidth * 1e9, 'B/s')}`,
      ),
    );
    const most = Math.max(...points.map((p) => p.time));
    for (const point of [...points].sort((a, b) => b.time - a.time)) {
      parts.push(
        svg(
          'circle',
          {
            class: `point ${point.launch.bound_by}`,
            cx: sx(point.x),
            cy: sy(point.y),
            r: 3 + 11 * Math.sqrt(point.time / most),
          },
          title(
            `step ${point.launch.step}, ${point.launch.kernel}: ${point.x.toPrecision(3)} FLOP/byte, ${siText(point.y * 1e9, 'FLOP/s')}, ${timeText(point.time)}`,
          ),
        ),
      );
    }
    return el(
      'figure',
      {},
      svg(
        'svg',
        {
          viewBox: `0 0 ${box.width} ${box.height}`,
          role: 'img',
          'aria-label': `Roofline of ${count(points.length, 'launch', 'launches')}; the table below has the figures`,
        },
        ...parts,
      ),
      el(
        'figcaption',
        {},
        'A circle is a launch; its area is its share of the time. Under the slope memory is what it waits for, under a level arithmetic. A level counts for the launches whose dtype it names.',
      ),
    );
  }

  /** Degrees by which the memory's roof rises on the screen. */
  slope(sx, sy, x, bandwidth) {
    return (Math.atan2(sy(x * bandwidth) - sy(10 * x * bandwidth), sx(10 * x) - sx(x)) * 180) / Math.PI;
  }

  launches(entry) {
    const total = entry.launches.reduce((sum, l) => sum + (l.estimate_us || 0) * (l.times ?? 1), 0) || 1;
    const columns = [
      { name: 'step', isNumber: true },
      { name: 'kernel' },
      { name: 'source' },
      { name: 'programs', isNumber: true },
      { name: 'operations', isNumber: true },
      { name: 'bytes', isNumber: true },
      { name: 'FLOP/byte', isNumber: true },
      { name: 'at least', isNumber: true },
      { name: 'share of the time' },
    ];
    return table(
      'Launches in order',
      columns,
      entry.launches.map((launch) => {
        const share = ((launch.estimate_us || 0) * (launch.times ?? 1)) / total;
        const bar = el('span', {
          class: `bar ${launch.bound_by || ''}`,
          title: launch.bound_by ? `bound by ${launch.bound_by}` : null,
        });
        bar.style.width = `${Math.max(0.5, share * 100)}%`;
        return {
          cells: [
            String(launch.step),
            el(
              'span',
              {},
              this.link(launch.kernel),
              launch.times > 1 ? ` × ${launch.times}` : launch.times === null ? ' as often as data says' : '',
            ),
            el('code', {}, launch.source),
            launch.programs?.toLocaleString('en'),
            launch.flops == null ? null : siText(launch.flops),
            launch.bytes_read === undefined ? null : bytesText(launch.bytes_read + launch.bytes_written),
            launch.intensity?.toPrecision(3),
            launch.estimate_us === undefined ? null : timeText(launch.estimate_us),
            el('span', { class: 'bars' }, bar, el('small', {}, launch.bound_by ?? '')),
          ],
        };
      }),
    );
  }

  kernels(kernels, target) {
    const isGpu = target.target.startsWith('cuda');
    const columns = [
      { name: 'kernel' },
      { name: 'source' },
      { name: 'programs' },
      { name: 'operations' },
      { name: 'bytes read' },
      { name: 'bytes written' },
      ...(isGpu
        ? [
            { name: 'threads', isNumber: true },
            { name: 'shared', isNumber: true },
            { name: 'registers', isNumber: true },
            { name: 'spills', isNumber: true },
            { name: 'blocks at once', isNumber: true },
          ]
        : [{ name: 'scratch' }]),
    ];
    return table(
      isGpu ? 'Kernels, and what each asks of a multiprocessor' : 'Kernels',
      columns,
      kernels.map((kernel) => ({
        cells: [
          this.link(kernel.name),
          el('code', {}, kernel.source),
          el('code', {}, kernel.grid.join(' × ') || '1'),
          el(
            'code',
            {},
            kernel.flops === null ? 'data decides' : (kernel.flops_at_most ? 'at most ' : '') + kernel.flops,
          ),
          el('code', {}, kernel.bytes_read),
          el('code', {}, kernel.bytes_written),
          ...(isGpu
            ? [
                String(kernel.threads),
                bytesText(kernel.shared_bytes),
                kernel.registers === null ? null : String(kernel.registers),
                kernel.spill_bytes === null ? null : bytesText(kernel.spill_bytes),
                String(kernel.occupancy_blocks),
              ]
            : [el('code', {}, kernel.scratch_bytes)]),
        ],
      })),
    );
  }
}
