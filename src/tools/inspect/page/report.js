// The cost of kernels and the live ranges of temporaries, drawn from the report of the bundle
// (docs/debugging.md explains each figure).

const svg = (name, attributes, ...children) => el('svg:' + name, attributes, ...children);
const title = (text) => svg('title', {}, text);

/** What the words in heads of tables and under figures mean. */
const HELP = {
  step: 'When it is launched, counted from the first step of the plan',
  programs: 'Instances of the kernel in a launch; each computes one tile',
  operations: 'Additions, multiplications and other arithmetic on elements',
  dots: 'The instruction that was chosen for dots, with the dtype of their factors',
  bytes: 'Read and written, each element as often as the kernel asks for it',
  'FLOP/byte': 'Operations for each byte moved; kernels with few are bound by memory',
  'at least': 'The time of the bytes or of the operations at the peak figures of the machine, the longer one',
  'share of the time': 'Of the sum of these least times; and the bound, memory or arithmetic (compute)',
  'bytes read': 'By all programs of a launch',
  'bytes written': 'By all programs of a launch',
  scratch: 'Private bytes of each program beside its registers',
  threads: 'In a block',
  'shared memory': 'Of a block',
  registers: 'Of a thread',
  spills: 'Bytes that a thread spills to memory',
  occupancy: 'Blocks that fit on a multiprocessor at a time',
  'first step': 'Of the plan in which it is written',
  'last step': 'Of the plan in which it is read',
  offset: 'Bytes from the start of the arena',
  'at the roofline': 'The sum of the least times of all launches; the time that is measured is longer',
  moved: 'Bytes that kernels read and write',
  'of temporaries': 'The arena in which all temporaries lie',
  'arena of temporaries': 'One piece of memory in which all temporaries lie',
  constants: 'Tensors that the compiler computed, kept in the bundle',
};

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
          ...columns.map(({ name, isNumber, help = HELP[name] }) =>
            el(
              'th',
              { scope: 'col', class: isNumber ? 'number' : null },
              help ? el('span', { class: 'term', title: help }, name) : name,
            ),
          ),
        ),
      ),
      el(
        'tbody',
        {},
        ...rows.map((row) =>
          el(
            'tr',
            { class: row.isIdle ? 'idle' : null },
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

const figure = (value, name, help = HELP[name]) =>
  el('div', { class: 'figure', title: help }, el('b', {}, value), el('span', {}, name));

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
/** What is shown, at which sizes, and a sentence about it. */
const lead = (entry, words) =>
  el(
    'p',
    { class: 'lead' },
    el('b', {}, entry.name),
    sizesOf(entry) ? ` at ${sizesOf(entry)}. ` : '. ',
    el('span', { class: 'muted' }, words),
  );
const hasSizes = (entry) => entry.memory.arena_bytes !== undefined;

const formula = (text) => el('code', { class: 'formula' }, text);

function operationsOf({ flops, flops_at_most: isBound }) {
  return flops === null ? 'data decides' : (isBound ? 'at most ' : '') + flops;
}

/** The instruction that was chosen for dots. */
function dotsOf({ dot_dtype: dtype, dot_instruction: chosen }) {
  if (!dtype) return null;
  return chosen ? `${chosen.name} ${chosen.shape}, ${chosen.dtype}` : 'multiply-adds';
}

/** A figure over a bar as long as its part of the most. */
function meter(part, text) {
  const bar = el('span', { class: 'bar' });
  bar.style.width = `${part * 100}%`;
  return el('span', { class: 'meter' }, el('span', {}, text), bar);
}

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
    if (entry && kernels.length === 0) {
      page.append(el('p', { class: 'hint' }, 'This entry launches no kernel, so there is nothing to report.'));
      return;
    }
    if (entry) {
      if (hasSizes(entry)) page.append(this.figures(entry, target), roofline(entry, target, this.inspection), this.launches(entry));
      else page.append(openSizes(entry));
    }
    page.append(...this.kernels(kernels, target));
    if (kernels.some((kernel) => kernel.registers === null)) {
      page.append(
        el(
          'p',
          { class: 'hint' },
          'Registers and spills are known where ',
          el('code', {}, '--cubin'),
          ' assembles the code.',
        ),
      );
    }
  }

  link(name) {
    const text = this.inspection.titleOf(name);
    return el('button', { class: 'link code', onclick: () => this.onKernel(name), title: 'See its lowering' }, text);
  }

  figures(entry, target) {
    const sum = (of) => entry.launches.reduce((total, launch) => total + (of(launch) || 0) * (launch.times ?? 1), 0);
    const time = sum((launch) => launch.estimate_us);
    return el(
      'div',
      {},
      lead(
        entry,
        'Times are the least that moving the bytes and doing the operations takes at the peak figures of ' +
          `${target.figures.of}.`,
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

  launches(entry) {
    const times = entry.launches.map((launch) => (launch.estimate_us || 0) * (launch.times ?? 1));
    const total = times.reduce((sum, time) => sum + time, 0) || 1,
      longest = Math.max(...times) || 1;
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
      entry.launches.map((launch, i) => {
        const isIdle = launch.programs === 0;
        const bar = isIdle
          ? ''
          : el('span', {
              class: `bar ${launch.bound_by || ''}`,
              title: launch.bound_by ? `bound by ${launch.bound_by}` : null,
            });
        if (!isIdle) bar.style.width = `${(times[i] / longest) * 4.5}rem`;
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
            isIdle || launch.intensity == null ? null : digitsText(launch.intensity, 3),
            launch.estimate_us === undefined || isIdle ? null : timeText(launch.estimate_us),
            el(
              'span',
              { class: 'bars' },
              bar,
              el(
                'small',
                {},
                isIdle
                  ? 'nothing to do at these sizes'
                  : `${digitsText((times[i] / total) * 100, 2)} %, ${launch.bound_by}`,
              ),
            ),
          ],
          isIdle,
        };
      }),
    );
  }

  kernels(kernels, target) {
    const isGpu = target.target.startsWith('cuda');
    const name = { name: 'kernel', cell: (kernel) => this.link(kernel.name) };
    const costs = [
      name,
      { name: 'source', cell: (kernel) => el('code', {}, kernel.source) },
      { name: 'programs', cell: (kernel) => formula(kernel.grid.join(' × ') || '1') },
      { name: 'operations', cell: (kernel) => formula(operationsOf(kernel)) },
      ...(kernels.some((kernel) => kernel.dot_dtype) ? [{ name: 'dots', cell: dotsOf }] : []),
      { name: 'bytes read', cell: (kernel) => formula(kernel.bytes_read) },
      { name: 'bytes written', cell: (kernel) => formula(kernel.bytes_written) },
      ...(isGpu ? [] : [{ name: 'scratch', cell: (kernel) => formula(kernel.scratch_bytes) }]),
    ];
    const tableOf = (caption, columns) =>
      table(
        caption,
        columns,
        kernels.map((kernel) => ({ cells: columns.map((column) => column.cell(kernel)) })),
      );
    return [
      tableOf('What a launch of each kernel does', costs),
      kernels.some((kernel) => /[A-Z]/.test(`${kernel.grid} ${kernel.flops} ${kernel.bytes_read}`))
        ? el('p', { class: 'note' }, 'Letters are sizes of the tensors that the kernel itself takes, as it names them.')
        : '',
      isGpu ? tableOf('What each asks of a multiprocessor', [name, ...this.resources(kernels)]) : '',
    ];
  }

  /** Threads, shared memory and registers, each beside a bar that is longest where most is asked for. */
  resources(kernels) {
    const figures = [
      { name: 'threads', of: (kernel) => kernel.threads, text: String },
      { name: 'shared memory', of: (kernel) => kernel.shared_bytes, text: bytesText },
      { name: 'registers', of: (kernel) => kernel.registers, text: String },
      { name: 'spills', of: (kernel) => kernel.spill_bytes, text: bytesText },
      { name: 'occupancy', of: (kernel) => kernel.occupancy_blocks, text: String },
    ];
    const known = figures.filter(({ of }) => kernels.some((kernel) => of(kernel) !== null));
    return known.map(({ name, of, text }) => {
      const most = Math.max(1, ...kernels.map((kernel) => of(kernel) ?? 0));
      return { name, cell: (kernel) => (of(kernel) === null ? null : meter(of(kernel) / most, text(of(kernel)))) };
    });
  }
}
