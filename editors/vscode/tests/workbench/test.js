// The extension in Visual Studio Code: `node test.js BUILD_DIR [--screenshots DIR]` packs it, installs the .vsix, opens
// a folder in the workbench and does by keyboard and mouse what a user does. The editor is that of code-server
// (tools/setup.sh --editors), in a headless Chromium. Exits with 77, which counts as skipped, where one is missing.

'use strict';
const assert = require('assert');
const { execFileSync } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const { findChromium } = require('../../../../tests/browser/chromium.js');
const { Window, sleep } = require('./window.js');

const extension = path.resolve(__dirname, '../..');
const build = path.resolve(process.argv[2] || path.join(extension, '../../build'));
const pictures = process.argv[3] === '--screenshots' ? process.argv[4] : null;
const server = process.env.TESSERA_VSCODE || path.join(extension, '.workbench');
const program = findChromium();

const wanted = [
  [Number(process.versions.node.split('.')[0]) >= 20, 'Node 20 or later'],
  [program, 'Chromium'],
  [fs.existsSync(path.join(extension, 'node_modules/.package-lock.json')), "the extension's packages"],
  [fs.existsSync(path.join(server, 'node_modules')), 'the editor of code-server'],
];
const missing = wanted.filter(([is]) => !is).map(([, name]) => name);
if (missing.length) {
  console.log(`skipped: needs ${missing.join(', ')} (tools/setup.sh --editors)`);
  process.exit(77);
}

const SOURCE = `from tessera.nn import gelu, rmsnorm_safe

# Scales the rows of x.
def scaled(x: Tensor[B, D, f32], gain: f32 = 2.0) -> Tensor[B, D, f32]:
    return x * gain

@jit
def mlp(x: Tensor[B, 8, f32], w1: Tensor[8, H, f32], w2: Tensor[H, 8, f32]) -> Tensor[B, 8, f32]:
    h = gelu(rmsnorm_safe(x) @ w1)
    y = scaled(h @ w2, 0.5)
    return x + y

@jit
def twice(x: Tensor[B, 8, f32]) -> Tensor[B, 8, f32]:
    return scaled(scaled(x))
`;
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'tessera-workbench-'));
const file = path.join(work, 'folder/mlp.tsr');

let shot = 0;
async function picture(window, name) {
  if (pictures) await window.screenshot(path.join(pictures, `${String(shot++).padStart(2, '0')}-${name}.png`));
}

/** Lines of the nth editor that the extension has marked. */
const MARKED = (editor) =>
  `document.querySelectorAll('.editor-instance')[${editor}].querySelectorAll('.view-overlays [class*=ced-]').length`;

async function testFirstSight(window) {
  await window.shows('.codelens-decoration', 'PTX or assembly');
  await window.shows('.view-line', 'h: Tensor[B, H, f32] = gelu');
  await window.shows('.view-line', 'gain=');
  assert.deepStrictEqual(await window.lines(), SOURCE.split('\n'));
  // What a name means colours it: the grammar alone cannot tell a function that is not called from a variable.
  await window.until(`(() => {
    const spans = [...document.querySelectorAll('.view-line span span')];
    const colour = (text) => getComputedStyle(spans.find((span) => span.textContent === text)).color;
    return colour('gelu') === colour('scaled') && colour('gelu') !== colour('y');
  })()`);
  await picture(window, 'open');
}

async function testHover(window) {
  await window.goTo(9, 11);
  await window.key('Control+k');
  await window.key('Control+i');
  await window.shows('.monaco-hover-content', 'gelu(x)');
  await picture(window, 'hover');
  await window.key('Escape');
}

async function testDiagnostics(window) {
  await window.goTo(9, 9);
  await window.key('Control+d');
  await window.insert('geluu');
  await window.until("document.querySelector('.squiggly-error')");
  await window.shows('.statusbar-item', '1');
  await window.goTo(9, 11);
  await window.until("document.querySelector('[class*=lightbulb]')");
  await window.insist('Control+.', '.action-widget', "did you mean 'gelu'?");
  await picture(window, 'quick-fix');
  await window.key('Enter');
  await window.until("!document.querySelector('.squiggly-error')");
  assert.deepStrictEqual(await window.lines(), SOURCE.split('\n'));
}

async function testTyping(window) {
  await window.goTo(10, 28);
  await window.key('Enter');
  await window.type('z = scal');
  await window.retype('l', '.suggest-widget .monaco-list-row.focused', 'scaled');
  await picture(window, 'completion');
  await window.key('Enter');
  await window.type('(h, ');
  await window.shows('.parameter-hints-widget .parameter.active', 'gain: f32 = 2.0');
  await window.shows('.parameter-hints-widget', 'Scales the rows of x.');
  await picture(window, 'signature');
  await window.type('3.0)  +0');
  await window.key('Escape');
  await window.command('Format Document');
  await window.shows('.view-line', ' + 0');
  assert.strictEqual((await window.lines())[10], '    z = scaled(h, 3.0) + 0');
  await window.command('File: Revert File');
  await window.until("!document.querySelector('.tab.active.dirty')");
}

async function testRename(window) {
  await window.goTo(10, 10);
  await window.key('F2');
  await window.until("document.activeElement.closest('.rename-box')");
  await window.insert('rescaled');
  await window.key('Enter');
  await window.shows('.view-line', 'rescaled(rescaled(x))');
  assert.deepStrictEqual(await window.lines(), SOURCE.replaceAll('scaled', 'rescaled').split('\n'));
  await window.command('File: Revert File');
  await window.until("!document.querySelector('.tab.active.dirty')");
}

async function testCalls(window) {
  await window.goTo(10, 10);
  await window.command('Peek Call Hierarchy');
  await window.shows('.call-hierarchy .monaco-list-row', 'twice');
  await picture(window, 'calls');
  assert.strictEqual(await window.value(MARKED(0)), 0, 'another view of the source marks nothing');
  await window.key('Escape');
  await window.until("!document.querySelector('.call-hierarchy')");
}

async function testStage(window) {
  const lens = "[...document.querySelectorAll('.codelens-decoration a')].find((a) => a.innerText === 'Schedule')";
  await window.until(lens);
  await window.tab.click(lens);
  await window.shows('.tab', 'mlp Schedule IR cpu', 60000);
  await window.shows('.editor-instance .view-line', 'sched.kernel');
  await window.key('Control+1');
  await window.goTo(9, 1);
  await window.until(`${MARKED(1)} > 0`);
  await picture(window, 'stage');
  const before = await window.value(MARKED(1));
  await window.goTo(13, 1);
  await window.until(`${MARKED(1)} !== ${before}`);
  await window.command('Tessera: Show PTX or Assembly of This Function');
  await window.shows('.tab', 'twice Assembly cpu', 60000);
  await picture(window, 'assembly');
  await window.key('Control+1');
}

async function testInspector(window) {
  await window.command('Tessera: Open the Lowering Inspector');
  await window.until("document.activeElement.closest('.quick-input-widget')");
  await window.insert('B=8, H=32');
  await window.key('Enter');
  await window.shows('.tab', 'Lowering of mlp.tsr', 60000);
  const page =
    "document.querySelector('iframe.webview')?.contentDocument?.querySelector('iframe')?.contentDocument?.body";
  await window.until(`${page}?.dataset.ready === 'yes'`, 60000);
  assert.match(await window.value(`${page}.innerText`), /sched\.kernel/);
  await sleep(200);
  await picture(window, 'inspector');
  await window.tab.click("[...document.querySelectorAll('.tab')].find((tab) => tab.innerText.trim() === 'mlp.tsr')");
  await window.shows('.tab.active', 'mlp.tsr');
}

async function testCompile(window) {
  await window.command('Tessera: Compile to a Bundle');
  const bundle = file.replace('.tsr', '.bundle');
  for (let i = 0; i < 600 && !fs.existsSync(bundle); i++) await sleep(100);
  assert.ok(fs.existsSync(bundle), 'there is no bundle');
}

async function testError(window) {
  await window.goTo(9, 1);
  await window.type('&');
  await window.until("document.querySelector('.squiggly-error')");
  await window.command('Tessera: Show Graph IR of This Function');
  await window.shows('.notification-toast', 'mlp.tsr:9: ', 60000);
  await picture(window, 'error');
}

async function main() {
  const vsix = path.join(work, 'tessera.vsix');
  execFileSync('npx', ['vsce', 'package', '--allow-missing-repository', '--skip-license', '-o', vsix], {
    cwd: extension,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 60000,
  });
  try {
    // A headless browser and an editor that is busy lose a key now and then: who fails may try again.
    for (let attempt = 1; ; attempt++) {
      try {
        return await session(vsix, path.join(work, `window${attempt}`));
      } catch (problem) {
        if (attempt === 3) throw problem;
        console.log(`again, after: ${problem.message}`);
      }
    }
  } finally {
    fs.rmSync(work, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** One window, in which all is tried. */
async function session(vsix, folder) {
  fs.rmSync(path.dirname(file), { recursive: true, force: true });
  fs.mkdirSync(path.dirname(file));
  fs.writeFileSync(file, SOURCE);
  const env = { ...process.env, PATH: `${path.join(build, 'bin')}${path.delimiter}${process.env.PATH}` };
  const window = new Window({ server, work: folder, env });
  try {
    window.install(vsix);
    await window.open(program, path.dirname(file));
    await window.openFile(file);
    const tests = [testFirstSight, testHover, testDiagnostics, testTyping, testRename, testCalls, testStage];
    for (const test of [...tests, testInspector, testCompile, testError]) {
      const began = Date.now();
      await test(window);
      console.log(`${test.name} (${Date.now() - began} ms)`);
    }
  } catch (problem) {
    if (pictures) await window.screenshot(path.join(pictures, 'failure.png'));
    throw problem;
  } finally {
    await window.close();
  }
}

const limit = setTimeout(() => {
  console.error('the editor took more than 400 s');
  process.exit(1);
}, 400000);
main().then(
  () => clearTimeout(limit),
  (problem) => {
    console.error(problem);
    process.exit(1);
  },
);
