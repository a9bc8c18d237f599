// The changes of each pass and its time. A diff is drawn when it is first opened.

const CONTEXT = 3,
  OPEN_UNITS = 4,
  TALLEST = 30;

/** Rows of a diff: {kind: ' ', '-', '+' or '…', text, line, words}. Edits that change places alone have none. */
function diffRows(texts, before, edits) {
  const rows = [],
    total = before.length / 2;
  let shownTo = 0,
    shift = 0;
  const keep = (from, to) => {
    for (let i = from; i < to; i++) rows.push({ kind: ' ', text: texts[before[2 * i]], line: i + 1 + shift });
  };
  for (const [at, removed, ...added] of edits) {
    const gone = [],
      come = [];
    for (let i = at; i < at + removed; i++) gone.push(texts[before[2 * i]]);
    for (let i = 0; i < added.length; i += 2) come.push(texts[added[i]]);
    const inserted = come.length;
    if (gone.length !== inserted || gone.some((text, i) => text !== come[i])) {
      const from = Math.max(shownTo, at - CONTEXT);
      if (rows.length) {
        const end = Math.min(shownTo + CONTEXT, from);
        keep(shownTo, end);
        if (end < from) rows.push({ kind: '…', text: count(from - end, 'line') });
      } else if (from > 0) rows.push({ kind: '…', text: count(from, 'line') });
      keep(from, at);
      const arePaired = gone.length === inserted;
      gone.forEach((text, i) => rows.push({ kind: '-', text, line: at + i + 1, other: arePaired ? come[i] : null }));
      come.forEach((text, i) =>
        rows.push({ kind: '+', text, line: at + shift + i + 1, other: arePaired ? gone[i] : null }),
      );
      shownTo = at + removed;
    }
    shift += inserted - removed;
  }
  if (rows.length) {
    const end = Math.min(total, shownTo + CONTEXT);
    keep(shownTo, end);
    if (end < total) rows.push({ kind: '…', text: count(total - end, 'line') });
  }
  return rows;
}

/** What two lines do not share at their ends: [from, to) in `text`. */
function difference(text, other) {
  let from = 0,
    back = 0;
  const most = Math.min(text.length, other.length);
  while (from < most && text[from] === other[from]) from++;
  while (back < most - from && text[text.length - 1 - back] === other[other.length - 1 - back]) back++;
  return [from, text.length - back];
}

const added = (edits) => edits.reduce((sum, edit) => sum + (edit.length - 2) / 2, 0);
const removed = (edits) => edits.reduce((sum, edit) => sum + edit[1], 0);

class PassView {
  constructor(root, inspection, onSideBySide) {
    Object.assign(this, { root, inspection, onSideBySide });
  }

  /** Steps of a program: those on the graph of the whole file, as far as they touched it, then its own. */
  stepsOf(program) {
    const steps = [];
    const add = (module, isOurs) =>
      module.states.forEach((state, s) => {
        if (!state.pass) return;
        const changes = state.changes.filter((change) => isOurs(module.units[change.unit]));
        steps.push({ module, state, s, changes, before: module.states[s - 1].level });
      });
    if (program.level === 'graph')
      for (const graph of this.inspection.graphs) add(graph, (unit) => unit === program.name);
    add(program, () => true);
    return steps;
  }

  show(program) {
    this.program = program;
    const steps = this.stepsOf(program);
    this.root.replaceChildren(
      el(
        'div',
        { class: 'page' },
        this.timeline(steps),
        el('ol', { class: 'passes' }, ...steps.map((step, i) => this.entry(step, i))),
      ),
    );
  }

  /** Each pass as wide as it took long. */
  timeline(steps) {
    const total = steps.reduce((sum, step) => sum + step.state.ms, 0);
    const bar = el('div', {
      class: 'timeline',
      role: 'toolbar',
      'aria-label': 'Passes by the time they took',
    });
    steps.forEach((step, i) => {
      const button = el(
        'button',
        {
          class: `stage-${step.state.level}`,
          tabindex: i ? -1 : 0,
          title: `${step.state.pass}, ${msText(step.state.ms)}`,
          'aria-label': `${step.state.pass}, ${msText(step.state.ms)}`,
          onclick: () => this.open(i),
          onkeydown: (event) => this.moveAlong(bar, i, event),
        },
        el('span', {}, step.state.pass),
      );
      button.style.flexGrow = Math.max(step.state.ms, total / 400);
      bar.append(button);
    });
    const others = this.inspection.times.filter((time) => !/ passes$/.test(time.stage));
    return el(
      'section',
      { class: 'times' },
      el(
        'p',
        { class: 'lead' },
        el('b', {}, count(steps.length, 'pass', 'passes')),
        ` in ${msText(total)}. `,
        el(
          'span',
          { class: 'muted' },
          'All of this compile, besides: ' +
            others.map((time) => `${time.stage} ${msText(time.ms)}`).join(', ') +
            '.',
        ),
      ),
      bar,
      el(
        'ul',
        { class: 'legend' },
        ...LEVELS.map((level) =>
          el('li', { class: `stage-${level}`, title: 'Passes whose result is of this stage' }, `gives ${level}`),
        ),
      ),
    );
  }

  moveAlong(bar, i, event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const next = step && bar.children[i + step];
    if (!next) return;
    bar.children[i].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    event.preventDefault();
  }

  open(i) {
    const details = this.root.querySelectorAll('.pass')[i];
    details.open = true;
    details.scrollIntoView({ block: 'start' });
    details.querySelector('summary').focus();
  }

  entry(step, i) {
    const { state, changes } = step,
      lowers = step.before !== state.level;
    const edited = changes.filter((change) => !change.gone);
    const more = edited.reduce((sum, change) => sum + added(change.edits), 0),
      less = edited.reduce((sum, change) => sum + removed(change.edits), 0);
    const result =
      changes.length === 0
        ? el('span', { class: 'muted' }, 'changed nothing')
        : lowers
          ? el('span', {}, `${step.before} → ${state.level}`)
          : el(
              'span',
              {},
              el('ins', {}, `+${more.toLocaleString('en')}`),
              ' ',
              el('del', {}, `−${less.toLocaleString('en')}`),
            );
    const body = el('div', { class: 'changes' });
    const details = el(
      'details',
      {
        class: `pass stage-${state.level}${changes.length ? '' : ' idle'}`,
        id: `pass-${i}`,
        open: changes.length > 0,
      },
      el(
        'summary',
        {},
        el('span', { class: 'name' }, state.pass),
        el('span', { class: 'what' }, this.inspection.passes[state.pass]),
        el('span', { class: 'result' }, result),
        el('span', { class: 'ms' }, msText(state.ms)),
      ),
      body,
    );
    const fill = () => {
      if (body.childElementCount === 0) this.fillChanges(body, step, lowers);
    };
    details.addEventListener('toggle', () => details.open && fill());
    new IntersectionObserver(
      (entries, observer) => {
        if (!entries.some((entry) => entry.isIntersecting) || !details.open) return;
        observer.disconnect();
        fill();
      },
      { rootMargin: '400px' },
    ).observe(details);
    return el('li', {}, details);
  }

  fillChanges(body, step, lowers) {
    const { module, s, changes } = step;
    if (changes.length === 0) {
      body.append(el('p', { class: 'muted' }, 'The program is what it was.'));
      return;
    }
    if (lowers) {
      const lines = (at) =>
        this.inspection.unitsAfter(module, at).reduce((sum, unit) => sum + unit.lines.length / 2, 0);
      body.append(
        el(
          'p',
          {},
          `Every line is new: ${count(lines(s - 1), 'line')} of ${step.before} became `,
          `${count(lines(s), 'line')} of ${step.state.level}. `,
          el('button', { class: 'link', onclick: () => this.onSideBySide() }, 'See them side by side'),
        ),
      );
      return;
    }
    changes.forEach((change, i) => body.append(this.unit(step, change, i < OPEN_UNITS)));
  }

  unit({ module, s }, change, isOpen) {
    const name = module.units[change.unit],
      before = this.inspection.linesAfter(module, change.unit, s - 1);
    if (change.gone)
      return el('p', { class: 'gone' }, el('del', {}, this.inspection.titleOf(name)), ` is gone, ${count(before.length / 2, 'line')}`);
    const holder = el('div', {});
    const details = el(
      'details',
      { class: 'unit', open: isOpen },
      el(
        'summary',
        {},
        el('code', {}, this.inspection.titleOf(name)),
        before.length ? '' : ' is new',
        ' ',
        el('ins', {}, `+${added(change.edits)}`),
        ' ',
        el('del', {}, `−${removed(change.edits)}`),
      ),
      holder,
    );
    const fill = () => holder.childElementCount || holder.append(this.diff(name, before, change.edits));
    if (isOpen) fill();
    else details.addEventListener('toggle', fill);
    return details;
  }

  diff(name, before, edits) {
    const rows = diffRows(this.inspection.texts, before, edits);
    if (rows.length === 0)
      return el('p', { class: 'muted' }, 'The text is the same; only places in the source differ.');
    const listing = new Listing(`What changed in ${this.inspection.titleOf(name)}`, {
      draw: (node, i, text, isFirst) => {
        const row = rows[i];
        node.classList.add({ ' ': 'same', '-': 'minus', '+': 'plus', '…': 'gap' }[row.kind]);
        const body = el('span', { class: 'body' });
        const [from, to] = row.other && text.length === row.text.length ? difference(text, row.other) : [0, 0];
        if (from < to && (from > 0 || to < text.length)) {
          body.append(
            coloured(text.slice(0, from), 'ir'),
            el('mark', {}, text.slice(from, to)),
            coloured(text.slice(to), 'ir'),
          );
        } else body.append(row.kind === '…' ? `⋯ ${text}` : coloured(text, 'ir'));
        node.append(
          el('span', { class: 'gutter', 'aria-hidden': true }, isFirst && row.line ? row.line : ''),
          el('span', { class: 'sign' }, { '-': '−', '+': '+' }[row.kind] || ' '),
          body,
        );
      },
    });
    listing.setLines({ length: rows.length, text: (i) => rows[i].text });
    const box = el('div', { class: 'diff' }, listing.element);
    box.style.height = `${Math.min(listing.length, TALLEST) * ROW + 14}px`;
    return box;
  }
}
