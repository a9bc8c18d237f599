// A headless Chromium, spoken to over a pipe in the DevTools protocol, with what tests of a page need.

'use strict';
const { spawn, spawnSync } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** The program's name, or null. */
function findChromium() {
  return (
    NAMES.find((name) => spawnSync(name, ['--version'], { stdio: 'ignore', timeout: 20000 }).status === 0) || null
  );
}

class Chromium {
  constructor(program) {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tessera-browser-'));
    this.process = spawn(
      program,
      [
        '--headless=new',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-dev-shm-usage',
        '--hide-scrollbars',
        '--no-first-run',
        '--remote-debugging-pipe',
        '--force-color-profile=srgb',
        `--user-data-dir=${this.folder}`,
        'about:blank',
      ],
      { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] },
    );
    this.nextId = 1;
    this.waiting = new Map();
    this.listeners = [];
    let held = '';
    this.process.stdio[4].on('data', (bytes) => {
      const messages = (held + bytes).split('\0');
      held = messages.pop();
      for (const message of messages) this.receive(JSON.parse(message));
    });
    this.process.stdio[3].on('error', () => {});
  }

  receive(message) {
    const call = this.waiting.get(message.id);
    if (!call) {
      for (const listener of this.listeners) listener(message);
      return;
    }
    this.waiting.delete(message.id);
    if (message.error) call.fail(new Error(`${call.method}: ${message.error.message}`));
    else call.done(message.result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.nextId++;
    return new Promise((done, fail) => {
      this.waiting.set(id, { done, fail, method });
      this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + '\0');
    });
  }

  /** A new tab of that size. */
  async open(url, { width = 1600, height = 1000, dark = false } = {}) {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const tab = new Tab(this, sessionId, targetId);
    for (const domain of ['Page', 'Runtime', 'Network', 'Accessibility']) await tab.send(`${domain}.enable`);
    await tab.send('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: false,
    });
    await tab.setDark(dark);
    await tab.send('Page.navigate', { url });
    return tab;
  }

  async close() {
    await Promise.race([this.send('Browser.close'), new Promise((done) => setTimeout(done, 3000))]);
    const ended = new Promise((done) => (this.process.exitCode === null ? this.process.once('exit', done) : done()));
    await Promise.race([ended, new Promise((done) => setTimeout(done, 3000))]);
    this.process.kill('SIGKILL');
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

class Tab {
  constructor(browser, sessionId, targetId) {
    Object.assign(this, { browser, sessionId, targetId, requests: [], problems: [] });
    browser.listeners.push((message) => {
      if (message.sessionId !== sessionId) return;
      const { method, params } = message;
      if (method === 'Network.requestWillBeSent') this.requests.push(params.request.url);
      if (method === 'Runtime.exceptionThrown')
        this.problems.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
      if (method === 'Runtime.consoleAPICalled' && params.type === 'error')
        this.problems.push(params.args.map((a) => a.value).join(' '));
    });
  }

  send(method, params) {
    return this.browser.send(method, params, this.sessionId);
  }

  setDark(dark) {
    return this.send('Emulation.setEmulatedMedia', {
      features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }],
    });
  }

  /** The value of an expression in the page. */
  async value(expression) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', {
      expression,
      returnByValue: true,
      awaitPromise: true,
    });
    if (exceptionDetails)
      throw new Error(`${expression}: ${exceptionDetails.exception?.description || exceptionDetails.text}`);
    return result.value;
  }

  /** Waits until an expression is true. */
  async until(expression, milliseconds = 20000) {
    const end = Date.now() + milliseconds;
    while (!(await this.value(`Boolean(${expression})`))) {
      if (Date.now() > end) throw new Error(`it did not become true: ${expression}`);
      await new Promise((done) => setTimeout(done, 25));
    }
  }

  async frame() {
    await this.value('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))');
  }

  /** The middle of the first element of a selector, or `inside` an element by expression. */
  async middle(expression) {
    const box = await this.value(`(${expression}).getBoundingClientRect().toJSON()`);
    return { x: box.x + Math.min(box.width / 2, 60), y: box.y + box.height / 2 };
  }

  async point(expression) {
    const { x, y } = await this.middle(expression);
    await this.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y });
    await this.frame();
  }

  async click(expression) {
    await this.value(`(${expression}).scrollIntoView({ block: 'nearest', inline: 'nearest' })`);
    const { x, y } = await this.middle(expression);
    for (const type of ['mouseMoved', 'mousePressed', 'mouseReleased']) {
      await this.send('Input.dispatchMouseEvent', {
        type,
        x,
        y,
        button: type === 'mouseMoved' ? 'none' : 'left',
        clickCount: 1,
      });
    }
    await this.frame();
  }

  async press(key, modifiers = 0) {
    const text = key.length === 1 ? key : key === 'Enter' ? '\r' : undefined;
    const codes = {
      Enter: 13,
      Tab: 9,
      Escape: 27,
      ArrowDown: 40,
      ArrowUp: 38,
      ArrowLeft: 37,
      ArrowRight: 39,
      End: 35,
      Home: 36,
      ' ': 32,
    };
    const about = {
      key,
      code: key,
      text,
      modifiers,
      windowsVirtualKeyCode: codes[key] ?? key.toUpperCase().charCodeAt(0),
    };
    await this.send('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', ...about });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...about, text: undefined });
    await this.frame();
  }

  async screenshot(file) {
    const { data } = await this.send('Page.captureScreenshot', { format: 'png' });
    fs.writeFileSync(file, Buffer.from(data, 'base64'));
  }

  /** Every node that can be focused: {role, name}. */
  async focusable() {
    const { nodes } = await this.send('Accessibility.getFullAXTree');
    return nodes
      .filter((node) => !node.ignored && node.properties?.some((p) => p.name === 'focusable' && p.value.value))
      .map((node) => ({ role: node.role?.value, name: node.name?.value || '' }));
  }
}

module.exports = { Chromium, findChromium };
