// The inspector's page in a browser: `node inspector_test.js BUILD_DIR [--screenshots DIR]`. Exits with 77, which
// counts as skipped, where there is no Chromium.

'use strict';
const assert = require('assert');
const { execFileSync } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const { pathToFileURL } = require('url');
const { Chromium, findChromium } = require('./chromium.js');

const build = path.resolve(process.argv[2]),
  root = path.resolve(__dirname, '../..');
const pictures = process.argv[3] === '--screenshots' ? process.argv[4] : null;
const program = findChromium();
if (!program) {
  console.log('skipped: needs Chromium (tools/setup.sh --editors)');
  process.exit(77);
}
const MLP = `from tessera.nn import rmsnorm_safe, gelu
const F = 3072

@jit
def mlp(x: Tensor[B, D, bf16 @accum(f32)], w_in: Tensor[D, F, bf16], w_out: Tensor[F, D, bf16]) -> Tensor[B, D, bf16]:
    h = gelu(rmsnorm_safe(x) @ w_in)
    return x + h @ w_out
`;
const CALLS = `def norm(x: Tensor[B, 64, f32]) -> Tensor[B, 64, f32]:
    return x - mean(x, axis=1, keepdims=True)

@jit
def f(x: Tensor[B, 64, f32]) -> Tensor[B, 64, f32]:
    y = norm(x)
    return tanh(y)
`;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tessera-inspect-'));

function inspect(source, name, ...options) {
  const page = path.join(folder, name);
  execFileSync(path.join(build, 'bin/tesserac'), [source, '--inspect', page, ...options], {
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 120000,
  });
  return page;
}

async function load(browser, page, options) {
  const tab = await browser.open(pathToFileURL(page).href, options);
  await tab.until('document.body && document.body.dataset.ready');
  assert.strictEqual(
    await tab.value('document.body.dataset.ready'),
    'yes',
    await tab.value('document.body.innerText'),
  );
  await tab.frame();
  return tab;
}

/** A row in sight of a stage's listing whose text matches. */
const row = (stage, pattern) =>
  `[...document.querySelectorAll('.pane.stage-${stage} .row')].find((row) => ${pattern}.test(row.textContent))`;
/** Scrolls to the first line of a listing whose text matches. */
const reveal = (stage, pattern) =>
  `(({ doc, listing }) => listing.scrollToLine(doc.texts.findIndex((text) => ${pattern}.test(text))))` +
  `(page.views.code.pane('${stage}'))`;
const lit = (stage, mark) =>
  `[...document.querySelectorAll('.pane.stage-${stage} .row[data-mark=${mark}] .body')]` +
  '.map((body) => body.textContent.trim())';
const marked = (stage) => `page.views.code.pane('${stage}').marks.size`;
const STAGES = ['graph', 'schedule', 'tile', 'target', 'code'];

let shot = 0;
async function picture(tab, name) {
  if (pictures) await tab.screenshot(path.join(pictures, `${String(shot++).padStart(2, '0')}-${name}.png`));
}

/** Pointing at a line lights up those of the same place, and nothing else. */
async function testLinks(tab) {
  await tab.point(row('graph', '/gir\\.gelu/'));
  assert.deepStrictEqual(await tab.value(lit('source', 'exact')), ['h = gelu(rmsnorm_safe(x) @ w_in)']);
  assert.ok((await tab.value(lit('graph', 'exact'))).every((text) => text.includes('gir.gelu')));
  for (const stage of STAGES) assert.ok((await tab.value(marked(stage))) > 0, `nothing of ${stage} is lit`);
  assert.match(await tab.value("document.querySelector('.status .place').textContent"), /^mlp\.tsr:6:9$/);
  await picture(tab, 'hover');
  await tab.point("document.querySelector('.top h1')");
  assert.strictEqual(
    await tab.value("document.querySelectorAll('.row[data-mark=hit], .row[data-mark=exact]').length"),
    0,
  );
}

/** A line of the library's product lights up in its own kernel only, and marks the launch of that kernel. */
async function testKernels(tab) {
  await tab.value(reveal('schedule', '/sched\\.dot/'));
  await tab.click(row('schedule', '/sched\\.dot/'));
  const units = await tab.value(
    "(({ marks, doc }) => [...new Set([...marks.keys()].map((i) => doc.units[i]))])(page.views.code.pane('tile'))",
  );
  const pinned = await tab.value('page.views.code.pinned.unit');
  assert.ok(
    units.every((unit) => unit === pinned || unit === 'mlp'),
    `${pinned} lit ${units}`,
  );
  assert.ok((await tab.value(lit('graph', 'near'))).some((text) => text.includes('gir.gemm')));
  assert.strictEqual(
    await tab.value("document.querySelector('.pane.stage-source select').selectedOptions[0].text"),
    'stdlib/matmul.tsr',
  );
  assert.ok(
    (await tab.value(lit('target', 'exact'))).length > 0,
    'pinning did not bring the lines of Target into sight',
  );
  await picture(tab, 'pinned');
  await tab.press('Escape');
  assert.strictEqual(await tab.value('page.views.code.pinned'), null);
}

/** A line that calls functions marks what they became, and a line of theirs the line that calls them. */
async function testCalls(tab) {
  const lineWith = (text) => tab.value(`page.views.code.pane('source').doc.texts.findIndex((t) => t.includes('${text}'))`);
  const call = await lineWith('norm(x)');
  await tab.value(`page.views.code.onCursor(page.views.code.pane('source'), ${call}, 'pin')`);
  const near = await tab.value(lit('graph', 'near'));
  assert.ok(near.length > 0 && near.every((text) => !text.includes('gir.tanh')), near.join());
  const inner = await lineWith('mean(');
  await tab.value(`page.views.code.onCursor(page.views.code.pane('source'), ${inner}, 'pin')`);
  assert.strictEqual(await tab.value(`page.views.code.pane('source').marks.get(${call})`), 1);
  assert.deepStrictEqual(tab.problems, []);
}

async function testKeyboard(tab) {
  await tab.value("document.querySelector('.pane.stage-graph .listing').focus()");
  await tab.press('Home');
  for (let i = 0; i < 3; i++) await tab.press('ArrowDown');
  const rowOf = "page.views.code.pane('graph').listing.firstRow";
  const rows = await tab.value(`${rowOf}[2]`);
  for (let i = 3; i < rows; i++) await tab.press('ArrowDown');
  assert.match((await tab.value(lit('graph', 'exact'))).join(), /gir\./);
  const active = await tab.value(
    "document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).textContent",
  );
  assert.match(active, /gir\./);
  await tab.press('Enter');
  assert.ok(await tab.value('page.views.code.pinned.key >= 0'));
  await tab.press('ArrowRight');
  assert.strictEqual(await tab.value("document.activeElement.getAttribute('aria-label')"), 'Schedule');
  await tab.press('n');
  assert.ok(await tab.value("document.activeElement.querySelector('.row.cursor')?.dataset.mark"));
  await tab.press('Escape');
  await tab.press('/');
  for (const key of 'GELU') await tab.press(key);
  assert.ok((await tab.value(lit('graph', 'hit'))).every((text) => text.includes('gelu')));
  assert.strictEqual(await tab.value("page.views.code.pane('source').marks.size"), 2);
  await tab.press('Escape');
  assert.strictEqual(await tab.value('page.views.code.pinned'), null);
  for (const [key, view] of [
    ['2', 'passes'],
    ['3', 'kernels'],
    ['4', 'memory'],
    ['5', 'graph'],
    ['6', 'layouts'],
    ['1', 'code'],
  ]) {
    await tab.press(key);
    assert.strictEqual(await tab.value("document.querySelector('[role=tabpanel]:not([hidden])').id"), `view-${view}`);
  }
  await tab.press('?');
  assert.ok(await tab.value("document.getElementById('keys').open"));
  await tab.press('Escape');
  const nameless = (await tab.focusable()).filter(
    (node) => !node.name && !['RootWebArea', 'main', 'generic'].includes(node.role),
  );
  assert.deepStrictEqual(nameless, []);
}

async function testPasses(tab) {
  await tab.press('2');
  await tab.frame();
  const passes = await tab.value(
    `[...document.querySelectorAll('.pass')].map((pass) => ({
      name: pass.querySelector('.name').textContent, open: pass.open, idle: pass.classList.contains('idle'),
      ms: pass.querySelector('.ms').textContent }))`,
  );
  for (const name of ['canonicalize', 'graph_to_schedule', 'schedule_to_tile', 'tile_to_x86', 'expand_math']) {
    assert.ok(
      passes.some((pass) => pass.name === name),
      `there is no ${name}`,
    );
  }
  assert.ok(passes.every((pass) => pass.open === !pass.idle && /\d/.test(pass.ms)));
  assert.ok(passes.some((pass) => pass.idle) && passes.some((pass) => pass.open));
  await picture(tab, 'passes');
  const diff =
    '[...document.querySelectorAll(".pass")].find((p) => p.querySelector(".name").textContent === "expand_math")';
  await tab.value(`${diff}.scrollIntoView()`);
  await tab.until(`${diff}.querySelector('.row.plus') && ${diff}.querySelector('.row.minus')`);
  assert.match(await tab.value(`${diff}.querySelector('.row.minus .body').textContent`), /target\./);
  await picture(tab, 'diff');
}

async function testPictures(tab) {
  await tab.press('3');
  assert.strictEqual(await tab.value("document.querySelectorAll('#view-kernels circle').length"), 3);
  assert.match(await tab.value("document.querySelector('#view-kernels').innerText"), /FLOP\/byte[\s\S]*mlp\.1\.v2/);
  await picture(tab, 'kernels');
  await tab.click(
    "[...document.querySelectorAll('#view-kernels .link')].find((link) => link.textContent === 'matmul · mlp.2.v2')",
  );
  assert.strictEqual(await tab.value("document.getElementById('kernel').value"), 'mlp.2.v2');
  assert.ok(await tab.value("page.views.code.pane('target').doc.units.every((unit) => unit === 'mlp.2.v2')"));
  await tab.value("page.views.code.showKernel('')");
  await tab.press('4');
  assert.ok((await tab.value("document.querySelectorAll('#view-memory rect.temp').length")) >= 2);
  await picture(tab, 'memory');
  await tab.press('1');
}

const node = (label) => `[...page.views.graph.tree.nodes.values()].find((node) => node.label === '${label}')`;
const drawn = "[...document.querySelectorAll('#view-graph .node')].map((node) => node.id)";

/** The graph of a small entry is all there: ops with their kernels, edges with their types. */
async function testGraph(tab) {
  await tab.press('5');
  const labels = await tab.value("[...document.querySelectorAll('.node.op .label')].map((text) => text.textContent)");
  for (const label of ['rmsnorm', 'gemm', 'gelu', 'add', 'return']) assert.ok(labels.includes(label), `no ${label}`);
  const below = "[...document.querySelectorAll('.node.op .below')].map((text) => text.textContent)";
  const kernels = await tab.value(below);
  assert.ok(kernels.includes('matmul · mlp.2'), kernels.join());
  const types = await tab.value("[...document.querySelectorAll('.edge text')].map((text) => text.textContent)");
  assert.ok(types.includes('B×3072 f32'), types.join());
  await tab.click(`${node('gelu')}.shape`);
  const panel = "document.querySelector('.about').innerText";
  assert.match(await tab.value(panel), /gir\.gelu[\s\S]*mlp\.tsr:6[\s\S]*rmsnorm_safe\(x\) @ w_in[\s\S]*matmul · mlp\.1/);
  assert.ok((await tab.value("document.querySelectorAll('.edge.near').length")) === 2);
  await picture(tab, 'graph');
  await tab.value("document.querySelector('svg.graph').focus()");
  await tab.press('ArrowUp');
  assert.strictEqual(await tab.value('page.views.graph.selected.label'), 'gemm');
  const scale = 'page.views.graph.view.scale';
  const before = await tab.value(scale);
  await tab.press('+');
  assert.ok((await tab.value(scale)) > before);
  await tab.press('0');
  await tab.press('ArrowDown');
  await tab.click("[...document.querySelectorAll('.about .link')].find((link) => link.textContent === 'See its lowering')");
  assert.strictEqual(await tab.value('page.view'), 'code');
  assert.deepStrictEqual(await tab.value(lit('source', 'exact')), ['h = gelu(rmsnorm_safe(x) @ w_in)']);
  await tab.press('Escape');
}

/** The blocks of a model are nodes that open; what was opened longest ago closes where too much would be shown. */
async function testModelGraph(tab) {
  await tab.press('5');
  const first = await tab.value(drawn);
  assert.ok(first.length < 40, `${first.length} nodes are shown at first`);
  for (let i = 0; i < 12; i++) assert.ok(await tab.value(`!${node(`blocks.${i}`)}.isOpen`));
  await picture(tab, 'gpt-graph');
  await tab.value(`page.views.graph.select(${node('blocks.3')}, true)`);
  await tab.value("document.querySelector('svg.graph').focus()");
  await tab.press('Enter');
  const inside = await tab.value(`${node('blocks.3')}.children.map((child) => 'node-' + child.id)`);
  const open = await tab.value(drawn);
  assert.ok(inside.length >= 6 && inside.every((id) => open.includes(id)));
  const attend = `${node('blocks.3')}.children.find((child) => child.label === 'attend')`;
  await tab.value(`page.views.graph.toggle(${attend})`);
  assert.match(await tab.value('location.hash'), /view=graph.*open=call\d+\+call\d+/);
  await picture(tab, 'gpt-graph-open');
  const all = "[...page.views.graph.tree.nodes.values()].filter((node) => node.kind === 'group')";
  await tab.value(`${all}.forEach((group) => page.views.graph.tree.open(group))`);
  assert.ok((await tab.value('page.views.graph.tree.visible().nodes.length')) <= 220);
  await tab.value('page.views.graph.closeAll()');
  assert.ok((await tab.value(drawn)).length <= first.length);
}

/** Layouts as the compiler has them, and accesses of shared memory with the banks that they ask for. */
async function testLayouts(tab) {
  await tab.press('6');
  const choose = (text) => `[...document.querySelectorAll('.choices button')].find((one) => ${text}.test(one.textContent))`;
  await tab.click(choose('/^#wgmma<acc, 128 x 64,/'));
  await tab.value('page.views.layouts.grids[0].pointAt(2 * 64 + 3)');
  // Of an accumulator a quad of lanes has a row, each lane two neighbours of every eight columns.
  assert.match(await tab.value("document.querySelector('.says').textContent"), /^\[2, 3\]: warp 0, lane 9, register 1$/);
  await picture(tab, 'layout');
  await tab.value("document.querySelector('canvas.grid').focus()");
  await tab.press('ArrowDown');
  assert.match(await tab.value("document.querySelector('.says').textContent"), /^\[3, 3\]: warp 0, lane 13, register 1$/);
  await tab.click(choose('/^#shared<128 x 64, bytes = 2, swizzle = 128>/'));
  await tab.value('page.views.layouts.grids[0].pointAt(64)');
  // Row 1: its first 16 bytes are where the swizzle puts them, one chunk on.
  assert.match(await tab.value("document.querySelector('.says').textContent"), /^\[1, 0\]: byte 144, bank 4, line 1/);
  await picture(tab, 'shared');
  await tab.click(choose('/conflicts?$/'));
  assert.ok((await tab.value("document.querySelectorAll('.banks .word.bad').length")) > 0);
  assert.match(await tab.value("document.querySelector('.board .bad').textContent"), /\d+ bank conflict/);
  assert.match(await tab.value('location.hash'), /view=layouts.*layout=/);
  await picture(tab, 'banks');
}

async function testTarget(tab, target) {
  await tab.value(`(() => { const t = document.getElementById('target'); t.value = '${target}'; t.onchange(); })()`);
  await tab.frame();
}

async function testThemes(tab) {
  const paper = () => tab.value('getComputedStyle(document.body).backgroundColor');
  const light = await paper();
  await tab.setDark(true);
  await tab.until("document.documentElement.dataset.theme === 'dark'");
  const dark = await paper();
  assert.notStrictEqual(light, dark);
  await picture(tab, 'dark');
  await tab.press('t');
  assert.strictEqual(await paper(), light);
  await tab.setDark(false);
  await tab.until("!matchMedia('(prefers-color-scheme: dark)').matches");
  await tab.press('t');
  assert.strictEqual(await paper(), dark);
  await tab.press('t');
  assert.strictEqual(await paper(), light);
}

/** Nothing of a source becomes markup, and line ends of any kind do no harm. */
async function testHostile(browser) {
  const source = path.join(folder, '</script><b>&amp;.tsr');
  fs.mkdirSync(path.dirname(source), { recursive: true });
  fs.writeFileSync(
    source,
    '# </script><img src=x onerror="document.title=1"><!-- é 漢字 \u2028 ]]>\n' +
      '@jit\ndef f(x: Tensor[N, f32]) -> Tensor[N, f32]:\n    return x + 1.0\n',
  );
  const tab = await load(browser, inspect(source, 'hostile.html', '--target=cpu:x86-64-v3'));
  assert.strictEqual(await tab.value("document.querySelectorAll('img, b:not(.figure b):not(.lead b)').length"), 0);
  assert.match(
    await tab.value("document.querySelector('.pane.stage-source .row').textContent"),
    /<\/script><img src=x onerror="document\.title=1">/,
  );
  assert.deepStrictEqual(tab.problems, []);
}

/** An entry without kernels says so in each view, and has no tables without rows. */
async function testEmpty(browser) {
  const source = path.join(folder, 'same.tsr');
  fs.writeFileSync(source, '@jit\ndef same(x: Tensor[4, f32]) -> Tensor[4, f32]:\n    return x\n');
  const tab = await load(browser, inspect(source, 'same.html', '--target=cpu:x86-64-v3'));
  const chip = "document.querySelector('.chip.stage-code')";
  assert.deepStrictEqual(await tab.value(`[${chip}.disabled, ${chip}.title]`), [true, 'There are no kernels']);
  await tab.press('3');
  assert.match(await tab.value("document.getElementById('view-kernels').innerText"), /launches no kernel/);
  assert.strictEqual(await tab.value("document.querySelectorAll('table').length"), 0);
  await tab.press('4');
  assert.match(await tab.value("document.getElementById('view-memory').innerText"), /needs no memory besides/);
  assert.deepStrictEqual(tab.problems, []);
}

/** What stands in heads of tables and under figures is explained, and nothing runs out of a narrow window. */
async function testHelp(tab) {
  const narrow = { width: 1024, height: 768, deviceScaleFactor: 1, mobile: false };
  await tab.send('Emulation.setDeviceMetricsOverride', narrow);
  for (const key of ['1', '2', '3', '4', '5', '6']) {
    await tab.press(key);
    assert.ok(await tab.value('document.documentElement.scrollWidth <= innerWidth'), `view ${key} is too wide`);
  }
  const plain = ['kernel', 'source', 'temporary', 'type'];
  const heads = await tab.value(
    "[...document.querySelectorAll('thead th')].map((th) => [th.textContent, Boolean(th.querySelector('[title]'))])",
  );
  assert.ok(heads.length > 15);
  for (const [name, isExplained] of heads) assert.ok(isExplained || plain.includes(name), `${name} has no help`);
  assert.strictEqual(await tab.value("document.querySelectorAll('.chip:not([title]), .icon:not([title])').length"), 0);
  await picture(tab, 'narrow');
}

/** Ops can be read in a window of 1400 px, and the head is one row in one of 900. */
async function testWidths(tab) {
  const resize = async (width, height) => {
    await tab.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
    await tab.frame();
    await tab.frame();
  };
  await tab.press('1');
  await resize(1400, 900);
  for (const stage of ['graph', 'schedule', 'tile', 'target']) {
    const rows = await tab.value(
      `((listing) => [listing.element.scrollWidth - listing.element.clientWidth, listing.length])
        (page.views.code.pane('${stage}').listing)`,
    );
    assert.ok(rows[1] > 0 && rows[0] <= 0, `${stage} is wider than its pane by ${rows[0]} px`);
  }
  await picture(tab, 'wide-1400');
  await resize(900, 700);
  assert.ok((await tab.value("document.querySelector('.top').offsetHeight")) < 60, 'the head takes two rows');
  assert.ok((await tab.value("document.querySelector('.toolbar').offsetHeight")) < 60, 'the toolbar takes two rows');
  await picture(tab, 'narrow-900');
  await resize(1600, 1000);
}

/** The address leads back to what is shown. */
async function testLinksToViews(browser, page, tab) {
  await tab.press('1');
  await tab.value("page.views.code.showKernel('mlp.2.v2')");
  await tab.value("page.views.code.showFile(0)");
  await tab.value("page.views.code.onCursor(page.views.code.pane('source'), 5, 'pin')");
  const hash = await tab.value('location.hash');
  const asked = new URLSearchParams(hash.slice(1));
  assert.deepStrictEqual(Object.fromEntries(asked), {
    view: 'code', entry: 'mlp', target: 'cpu:x86-64-v4', kernel: 'mlp.2.v2', line: 'mlp.tsr:6',
  });
  const other = await browser.open(pathToFileURL(page).href + hash);
  await other.until('document.body && document.body.dataset.ready');
  await other.frame();
  assert.deepStrictEqual(
    await other.value(
      "[page.program.target, document.getElementById('kernel').value, page.views.code.state().line, location.hash]",
    ),
    ['cpu:x86-64-v4', 'mlp.2.v2', 'mlp.tsr:6', hash],
  );
  assert.deepStrictEqual(other.problems, []);
  const broken = await browser.open(pathToFileURL(page).href + '#view=nothing&entry=x&kernel=y&line=z:1');
  await broken.until('document.body && document.body.dataset.ready');
  assert.strictEqual(await broken.value('page.view'), 'code');
  assert.deepStrictEqual(broken.problems, []);
  await tab.send('Page.bringToFront');  // else it draws no frames
  await tab.press('Escape');
  await tab.value("page.views.code.showKernel('')");
}

/** Twelve layers: the page stays small, and only what is in sight is in it. */
async function testLarge(browser) {
  const page = inspect(
    path.join(root, 'examples/gpt/gpt.tsr'),
    'gpt.html',
    '--target=cpu:x86-64-v4',
    '--dims',
    'B=1,S=256',
  );
  const size = fs.statSync(page).size;
  assert.ok(size < 8e6, `the page has ${size} bytes`);
  const tab = await load(browser, page);
  assert.ok((await tab.value("page.views.code.pane('target').doc.length")) > 10000);
  await tab.value("page.views.code.pane('target').listing.element.scrollTop = 1e9");
  await tab.frame();
  for (const key of ['2', '3', '4', '1']) await tab.press(key);
  const nodes = await tab.value("document.querySelectorAll('*').length");
  assert.ok(nodes < 30000, `there are ${nodes} elements`);
  await tab.point(row('graph', '/gir\\.gelu|gir\\.gemm/'));
  await picture(tab, 'gpt');
  await tab.press('2');
  await picture(tab, 'gpt-passes');
  await tab.press('3');
  await picture(tab, 'gpt-kernels');
  await tab.press('4');
  await picture(tab, 'gpt-memory');
  await testModelGraph(tab);
  assert.deepStrictEqual(tab.problems, []);
}

async function main() {
  const browser = new Chromium(program);
  try {
    const example = path.join(folder, 'mlp.tsr');
    fs.writeFileSync(example, MLP);
    const page = inspect(example, 'mlp.html', '--dims', 'B=8,D=768', '--target=cpu:x86-64-v4,cuda:sm_90a');
    const tab = await load(browser, page);
    await testTarget(tab, 'cpu:x86-64-v4');
    for (const test of [testLinks, testKernels, testKeyboard, testPasses, testPictures, testThemes]) {
      console.log(test.name);
      await test(tab);
    }
    await testLinksToViews(browser, page, tab);
    await testGraph(tab);
    await testWidths(tab);
    await tab.press('6');
    assert.match(await tab.value("document.getElementById('view-layouts').innerText"), /tiles have no layouts/);
    await tab.press('1');
    await testTarget(tab, 'cuda:sm_90a');
    await testLayouts(tab);
    await tab.press('1');
    assert.strictEqual(await tab.value("page.views.code.pane('code').title.textContent"), 'PTX');
    await tab.point(row('graph', '/gir\\.gelu/'));
    assert.ok((await tab.value(marked('code'))) > 0);
    await picture(tab, 'ptx');
    await testHelp(tab);
    assert.deepStrictEqual(
      tab.requests.filter((url) => !url.startsWith('file:')),
      [],
    );
    assert.strictEqual(tab.requests.length, 1);
    assert.deepStrictEqual(tab.problems, []);
    const calls = path.join(folder, 'calls.tsr');
    fs.writeFileSync(calls, CALLS);
    await testCalls(await load(browser, inspect(calls, 'calls.html', '--target=cpu:x86-64-v3')));
    for (const test of [testHostile, testEmpty, testLarge]) {
      console.log(test.name);
      await test(browser);
    }
  } finally {
    await browser.close();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

const limit = setTimeout(() => {
  console.error('the browser took more than 150 s');
  process.exit(1);
}, 150000);
main().then(
  () => clearTimeout(limit),
  (problem) => {
    console.error(problem);
    process.exit(1);
  },
);
