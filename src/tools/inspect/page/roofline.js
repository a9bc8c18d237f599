// The roofline: operations a second over operations for each byte, both on logarithmic axes, with
// the kernels of an entry below the peak of the machine.

const CHART = { left: 64, right: 124, top: 16, bottom: 44, width: 900, height: 380 };

/** 1, 10, 100, 1 k: no digits that say nothing. */
const tickText = (value, unit = '') =>
  value < 1 ? String(Number(value.toPrecision(1))) : siText(value, unit).replace(/\.0+(?=\D|$)/, '');

/** The launches of one kernel at one intensity are one point. */
function pointsOf(entry) {
  const points = new Map();
  for (const launch of entry.launches) {
    if (!(launch.flops > 0 && launch.intensity > 0 && launch.estimate_us > 0)) continue;
    const id = `${launch.kernel} ${launch.intensity}`,
      times = launch.times ?? 1;
    const point = points.get(id) || {
      kernel: launch.kernel,
      x: launch.intensity,
      y: launch.flops / launch.estimate_us / 1e3,
      bound: launch.bound_by,
      time: 0,
      times: 0,
    };
    point.time += launch.estimate_us * times;
    point.times += times;
    points.set(id, point);
  }
  return [...points.values()].sort((a, b) => b.time - a.time);
}

/** GFLOP/s by what reaches them; levels of the same height have one name, the lowest that of all arithmetic. */
function ceilingsOf({ f32_gflops: f32, dot_gflops: dots }) {
  const byHeight = new Map();
  for (const [dtype, gflops] of Object.entries(dots)) {
    if (gflops > f32) byHeight.set(gflops, [...(byHeight.get(gflops) || []), dtype]);
  }
  const nameOf = (dtypes) => `dots of ${dtypes.sort().join(' and ')}`;
  return new Map([
    [f32, byHeight.size ? 'other arithmetic' : 'arithmetic'],
    ...[...byHeight].map(([gflops, dtypes]) => [gflops, nameOf(dtypes)]),
  ]);
}

class Scales {
  constructor(points, top, bandwidth) {
    const up = (value) => 10 ** Math.ceil(Math.log10(value)),
      down = (value) => 10 ** Math.floor(Math.log10(value));
    const xs = points.map((point) => point.x),
      ys = points.map((point) => point.y);
    this.x0 = down(Math.min(0.1, ...xs));
    this.x1 = up(Math.max(1000, (top / bandwidth) * 2, ...xs));
    this.y0 = down(0.8 * Math.min(bandwidth * 0.1, ...ys));
    this.y1 = up(top * 1.2);
  }

  x(value) {
    const part = Math.log10(value / this.x0) / Math.log10(this.x1 / this.x0);
    return CHART.left + part * (CHART.width - CHART.left - CHART.right);
  }

  y(value) {
    const part = Math.log10(value / this.y0) / Math.log10(this.y1 / this.y0);
    return CHART.height - CHART.bottom - part * (CHART.height - CHART.top - CHART.bottom);
  }

  line(name, xa, ya, xb, yb) {
    return svg('line', { class: name, x1: this.x(xa), y1: this.y(ya), x2: this.x(xb), y2: this.y(yb) });
  }
}

function gridOf(scales) {
  const { x0, x1, y0, y1 } = scales,
    parts = [];
  const label = (x, y, anchor, text) => svg('text', { class: 'tick', x, y, 'text-anchor': anchor }, text);
  for (let x = x0; x <= x1 * 1.01; x *= 10) {
    parts.push(scales.line('grid', x, y0, x, y1), label(scales.x(x), scales.y(y0) + 18, 'middle', tickText(x)));
  }
  for (let y = y0; y <= y1 * 1.01; y *= 10) {
    parts.push(scales.line('grid', x0, y, x1, y), label(scales.x(x0) - 8, scales.y(y) + 4, 'end', tickText(y * 1e9)));
  }
  const middle = (scales.x(x0) + scales.x(x1)) / 2,
    height = (scales.y(y0) + scales.y(y1)) / 2;
  return [
    ...parts,
    svg(
      'text',
      { class: 'axis', x: middle, y: CHART.height - 6, 'text-anchor': 'middle' },
      'operations for each byte that moves',
    ),
    svg(
      'text',
      { class: 'axis', x: -height, y: 14, transform: 'rotate(-90)', 'text-anchor': 'middle' },
      'operations a second',
    ),
  ];
}

function roofOf(scales, ceilings, bandwidth) {
  const top = Math.max(...ceilings.keys()),
    parts = [];
  for (const [gflops, name] of ceilings) {
    const from = Math.min(Math.max(gflops / bandwidth, scales.x0), scales.x1);
    parts.push(
      scales.line('roof', from, gflops, scales.x1, gflops),
      svg(
        'text',
        { class: 'tick', x: scales.x(scales.x1) + 8, y: scales.y(gflops) + 4 },
        name,
        title(siText(gflops * 1e9, 'FLOP/s')),
      ),
    );
  }
  const low = Math.max(scales.x0, scales.y0 / bandwidth),
    at = low * 1.6;
  const x = scales.x(at),
    y = scales.y(at * bandwidth) - 10;
  const slope = Math.atan2(
    scales.y(low * bandwidth) - scales.y(10 * low * bandwidth),
    scales.x(10 * low) - scales.x(low),
  );
  const turn = `rotate(${(-slope * 180) / Math.PI} ${x} ${y})`;
  return [
    ...parts,
    scales.line('roof', low, low * bandwidth, top / bandwidth, top),
    svg('text', { class: 'tick', x, y, transform: turn }, `memory, ${tickText(bandwidth * 1e9, 'B/s')}`),
  ];
}

function circlesOf(scales, points, inspection) {
  const most = points[0].time,
    named = [];
  const circles = points.map((point) => {
    const x = scales.x(point.x),
      y = scales.y(point.y),
      r = 3 + 11 * Math.sqrt(point.time / most);
    const isAlone = named.every((other) => Math.abs(other.x - x) > 70 || Math.abs(other.y - y) > 14);
    if (isAlone && named.length < 6) named.push({ x, y, r, kernel: point.kernel });
    const words =
      `${inspection.titleOf(point.kernel)}, ${count(point.times, 'launch', 'launches')}: ${digitsText(point.x, 3)} FLOP/byte, ` +
      `${siText(point.y * 1e9, 'FLOP/s')}, ${timeText(point.time)} in all`;
    return svg('circle', { class: `point ${point.bound}`, cx: x, cy: y, r }, title(words));
  });
  return [
    ...circles,
    ...named.map(({ x, y, r, kernel }) =>
      svg('text', { class: 'name over', x, y: y + r + 14, 'text-anchor': 'middle' }, inspection.sourceNameOf(kernel) || kernel),
    ),
  ];
}

function roofline(entry, target, inspection) {
  const points = pointsOf(entry),
    { memory_gbytes: bandwidth } = target.figures;
  if (points.length === 0) {
    return el(
      'p',
      { class: 'hint' },
      'No launch has operations that are known beforehand, so there is no roofline to draw.',
    );
  }
  const ceilings = ceilingsOf(target.figures),
    scales = new Scales(points, Math.max(...ceilings.keys()), bandwidth);
  const words = `Roofline of ${count(points.length, 'kernel')}; the table below has the figures`;
  return el(
    'figure',
    {},
    svg(
      'svg',
      { viewBox: `0 0 ${CHART.width} ${CHART.height}`, role: 'img', 'aria-label': words },
      ...gridOf(scales),
      ...roofOf(scales, ceilings, bandwidth),
      ...circlesOf(scales, points, inspection),
    ),
    el(
      'figcaption',
      {},
      'A circle is a kernel, as large as its share of the time. On the slope it waits for memory, on a level for ' +
        'arithmetic of that kind.',
    ),
  );
}
