// The page: views, the program that is shown, light and dark.

const VIEWS = ['code', 'passes', 'kernels', 'memory', 'graph', 'layouts'];
const byId = (id) => document.getElementById(id);

/** What was chosen last, where the browser lets a page keep it. */
const memory = {
  get(key) {
    try {
      return localStorage.getItem(`tessera-inspect-${key}`);
    } catch {
      return null;
    }
  },
  set(key, value) {
    try {
      localStorage.setItem(`tessera-inspect-${key}`, value);
    } catch {
      /* this page forgets */
    }
  },
};

class Page {
  constructor(inspection) {
    this.inspection = inspection;
    byId('file').textContent = inspection.input;
    byId('compiler').textContent = inspection.compiler;
    document.title = `${inspection.input} – Tessera inspector`;
    this.status = el('footer', { class: 'status' });
    document.body.append(this.status);
    const showKernel = (name) => {
      this.showView('code');
      this.views.code.showKernel(name);
    };
    this.views = {
      code: new CodeView(byId('view-code'), inspection, (status) => this.say(status)),
      passes: new PassView(byId('view-passes'), inspection, () => this.showView('code')),
      kernels: new KernelView(byId('view-kernels'), inspection, showKernel),
      memory: new MemoryView(byId('view-memory'), inspection),
      graph: new GraphView(byId('view-graph'), inspection, {
        onKernel: showKernel,
        onLine: (line) => {
          this.showView('code');
          this.views.code.pinGraph(line);
        },
      }),
      layouts: new LayoutView(byId('view-layouts'), inspection, { onKernel: showKernel }),
    };
    this.offerPrograms();
    this.listen();
    this.restore();
    for (const view of ['code', 'graph', 'layouts']) this.views[view].onMove = () => this.link();
    addEventListener('hashchange', () => this.restore());
  }

  offerPrograms() {
    const { programs } = this.inspection;
    const names = [...new Set(programs.map((program) => program.name))],
      targets = [...new Set(programs.map((program) => program.target))];
    const options = (texts) => texts.map((text) => el('option', { value: text }, text));
    byId('program').append(...options(names));
    byId('target').append(...options(targets));
    byId('target').value = targets.at(-1);
    byId('program').onchange = byId('target').onchange = () => this.showProgram();
    this.showProgram();
  }

  showProgram() {
    this.program = this.inspection.programs.find(
      (program) => program.name === byId('program').value && program.target === byId('target').value,
    );
    this.inspection.target = this.program.target;
    this.isStale = new Set(VIEWS);
    if (!this.view) return;
    this.fillView();
    this.link();
  }

  /** The address says what is shown, so that it can be sent: #view=code&entry=…&target=…, then what the view adds. */
  link() {
    if (this.isRestoring) return;
    const parts = { view: this.view, entry: this.program.name, target: this.program.target };
    const state = new URLSearchParams({ ...parts, ...this.views[this.view].state?.() });
    for (const [key, value] of [...state]) if (!value) state.delete(key);
    try {
      history.replaceState(null, '', `#${state}`);
    } catch {
      /* some browsers allow no change of a file's address */
    }
  }

  restore() {
    const hash = location.hash.slice(1),
      asked = new URLSearchParams(VIEWS.includes(hash) ? { view: hash } : hash);
    this.isRestoring = true;
    for (const [id, key] of [
      ['program', 'entry'],
      ['target', 'target'],
    ]) {
      const value = asked.get(key);
      if ([...byId(id).options].some((option) => option.value === value)) byId(id).value = value;
    }
    this.showProgram();
    this.showView(VIEWS.includes(asked.get('view')) ? asked.get('view') : 'code');
    this.views[this.view].restore?.(Object.fromEntries(asked));
    this.isRestoring = false;
  }

  showView(view) {
    this.view = view;
    for (const id of VIEWS) {
      const isShown = id === view;
      byId(`view-${id}`).hidden = !isShown;
      byId(`tab-${id}`).setAttribute('aria-selected', isShown);
      byId(`tab-${id}`).tabIndex = isShown ? 0 : -1;
    }
    this.status.hidden = view !== 'code';
    if (this.isStale.delete('code')) this.views.code.show(this.program);
    this.fillView();
    this.link();
  }

  fillView() {
    for (const view of new Set([this.view, 'code'])) {
      if (this.isStale.delete(view)) this.views[view].show(this.program);
    }
  }

  /** What is lit, and how many lines of each stage. */
  say(status) {
    if (!status) {
      this.status.replaceChildren(
        el(
          'span',
          { class: 'muted' },
          'Point at a line, or move in a listing with the arrow keys; ',
          el('kbd', {}, '?'),
          ' shows all keys.',
        ),
      );
      return;
    }
    const counts = status.counts
      .filter(([, n]) => n > 0)
      .map(([name, n]) => `${name} ${n.toLocaleString('en')}`)
      .join(' · ');
    this.status.replaceChildren(
      el('code', { class: 'place' }, status.place),
      el('code', { class: 'line' }, coloured(status.text, 'source')),
      el('span', { class: 'counts', title: 'Highlighted lines in each listing' }, counts),
      status.isPinned ? el('span', { class: 'pinned' }, 'pinned') : '',
    );
  }

  listen() {
    VIEWS.forEach((view, i) => {
      const tab = byId(`tab-${view}`);
      tab.onclick = () => this.showView(view);
      tab.onkeydown = (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!step) return;
        const next = VIEWS[(i + step + VIEWS.length) % VIEWS.length];
        this.showView(next);
        byId(`tab-${next}`).focus();
        event.preventDefault();
      };
    });
    byId('theme').onclick = () => this.nextTheme();
    byId('help').onclick = () => byId('keys').showModal();
    document.addEventListener('keydown', (event) => this.key(event));
    this.system = matchMedia('(prefers-color-scheme: dark)');
    this.system.onchange = () => this.useTheme(this.theme);
    this.useTheme(memory.get('theme') || document.documentElement.dataset.preset || 'auto');
  }

  key(event) {
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      byId('keys').open ||
      /^(SELECT|INPUT)$/.test(event.target.tagName)
    )
      return;
    if (event.key >= '1' && event.key <= String(VIEWS.length)) this.showView(VIEWS[Number(event.key) - 1]);
    else if (event.key === 't') this.nextTheme();
    else if (event.key === '?') byId('keys').showModal();
    else if (!(this.view === 'code' && this.views.code.key(event))) return;
    event.preventDefault();
  }

  nextTheme() {
    const themes = ['auto', 'light', 'dark'];
    this.useTheme(themes[(themes.indexOf(this.theme) + 1) % themes.length]);
    memory.set('theme', this.theme);
  }

  useTheme(theme) {
    this.theme = theme;
    const isDark = theme === 'dark' || (theme === 'auto' && this.system.matches);
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
    const names = { auto: ['◐', 'as the system has it'], light: ['○', 'light'], dark: ['●', 'dark'] };
    byId('theme').textContent = names[theme][0];
    byId('theme').setAttribute('aria-label', `Colours: ${names[theme][1]}`);
    byId('theme').title = `Colours: ${names[theme][1]} (t)`;
    for (const pane of this.views.code.panes) this.views.code.drawRuler(pane);
    this.views.layouts.repaint();
  }
}

readInspection()
  .then((inspection) => {
    byId('loading').remove();
    globalThis.page = new Page(inspection);
    document.body.dataset.ready = 'yes';
  })
  .catch((problem) => {
    byId('loading').textContent = `This page cannot be drawn: ${problem.message}`;
    document.body.dataset.ready = 'no';
  });
