// A window of Visual Studio Code: the server of code-server, a headless Chromium that shows its workbench, and what a
// user does there by keyboard and mouse.

'use strict';
const { spawn, spawnSync } = require('child_process');
const fs = require('fs');
const path = require('path');
const { Chromium } = require('../../../../tests/browser/chromium.js');

const MODIFIERS = { Alt: 1, Control: 2, Shift: 8 };
const CODES = {
  Backspace: 8,
  Enter: 13,
  Escape: 27,
  End: 35,
  Home: 36,
  ArrowUp: 38,
  ArrowDown: 40,
  F1: 112,
  F2: 113,
  '.': 190,
};
const SETTINGS = {
  'security.workspace.trust.enabled': false,
  'workbench.startupEditor': 'none',
  'workbench.colorTheme': 'Default Light Modern',
  'extensions.ignoreRecommendations': true,
  'telemetry.telemetryLevel': 'off',
  'editor.accessibilitySupport': 'off',
  'files.autoSave': 'off',
};

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const quoted = JSON.stringify;

class Window {
  /** `server` is the folder of VS Code in code-server, `work` one for what it keeps, `env` what programs see. */
  constructor({ server, work, env }) {
    Object.assign(this, { main: path.join(server, 'out/server-main.js'), data: path.join(work, 'data'), env });
    fs.mkdirSync(path.join(this.data, 'data/User'), { recursive: true });
    fs.writeFileSync(path.join(this.data, 'data/User/settings.json'), quoted(SETTINGS));
  }

  arguments(more) {
    return [this.main, '--server-data-dir', this.data, '--accept-server-license-terms', ...more];
  }

  install(vsix) {
    const { stdout, stderr } = spawnSync('node', this.arguments(['--install-extension', vsix]), { timeout: 60000 });
    if (!`${stdout}`.includes('successfully installed')) throw new Error(`${stdout}${stderr}`);
  }

  /** Shows a folder; `program` is the browser. */
  async open(program, folder, size = {}) {
    const options = ['--host', '127.0.0.1', '--port', '0', '--without-connection-token', '--telemetry-level', 'off'];
    this.server = spawn('node', this.arguments([...options, '--force-disable-user-env']), {
      env: this.env,
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    const port = await new Promise((done, fail) => {
      let text = '';
      this.server.stdout.on('data', (bytes) => {
        text += bytes;
        const found = text.match(/listening on (\d+)/);
        if (found) done(found[1]);
      });
      this.server.once('exit', () => fail(new Error(`VS Code does not start: ${text}`)));
    });
    this.browser = new Chromium(program);
    const url = `http://127.0.0.1:${port}/?folder=${encodeURIComponent(folder)}`;
    this.tab = await this.browser.open(url, { width: 1400, height: 900, ...size });
    await this.until("document.querySelector('.explorer-folders-view .monaco-list-row')", 60000);
  }

  async close() {
    await this.browser?.close();
    try {
      if (this.server) process.kill(-this.server.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }

  until(expression, milliseconds = 25000) {
    return this.tab.until(expression, milliseconds);
  }

  value(expression) {
    return this.tab.value(expression);
  }

  /** The texts of all elements of a selector. */
  texts(selector) {
    return this.value(`[...document.querySelectorAll(${quoted(selector)})].map((e) => e.innerText)`);
  }

  /** Waits until an element of a selector has a text in it. */
  shows(selector, text, milliseconds) {
    const has = `(e) => e.innerText.replace(/\\u00a0/g, ' ').includes(${quoted(text)})`;
    return this.until(`[...document.querySelectorAll(${quoted(selector)})].some(${has})`, milliseconds);
  }

  /** Presses a key until it shows something: the editor forgets keys that come while it is still looking for actions. */
  async insist(key, selector, text) {
    for (let attempt = 0; ; ++attempt) {
      await this.key(key);
      try {
        return await this.shows(selector, text, 4000);
      } catch (error) {
        if (attempt === 4) throw error;
        await this.key('Escape');
      }
    }
  }

  /** Waits for what the last letter brings; the editor drops what the server says of a text that has changed since. */
  async retype(letter, selector, text) {
    for (let attempt = 0; ; ++attempt) {
      try {
        return await this.shows(selector, text, 4000);
      } catch (error) {
        if (attempt === 4) throw error;
        await this.key('Escape');
        await this.key('Backspace');
        await this.type(letter);
      }
    }
  }

  /** A key with what is held: `Control+Shift+k`. */
  async key(chord) {
    const parts = chord.split('+');
    const key = parts.pop();
    const modifiers = parts.reduce((sum, part) => sum | MODIFIERS[part], 0);
    const code = /^[a-z]$/i.test(key) ? `Key${key.toUpperCase()}` : key === '.' ? 'Period' : key;
    const windowsVirtualKeyCode = CODES[key] ?? key.toUpperCase().charCodeAt(0);
    const about = { key, code, modifiers, windowsVirtualKeyCode };
    const text = key === 'Enter' && !modifiers ? '\r' : undefined;
    await this.tab.send('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', ...about, text });
    await this.tab.send('Input.dispatchKeyEvent', { type: 'keyUp', ...about });
    await sleep(30);
  }

  /** Types a text as from a keyboard, which asks for completions. */
  async type(text) {
    for (const key of text) {
      await this.tab.send('Input.dispatchKeyEvent', { type: 'keyDown', key, text: key, unmodifiedText: key });
      await this.tab.send('Input.dispatchKeyEvent', { type: 'keyUp', key });
      await sleep(10);
    }
  }

  insert(text) {
    return this.tab.send('Input.insertText', { text });
  }

  /** Types into what a key opens, and Enter; what is chosen may at once ask for something in the same place. */
  async quickInput(chord, text, row) {
    await this.key('Escape');
    await this.key(chord);
    await this.until("document.activeElement.closest('.quick-input-widget')");
    await this.insert(text);
    const focused = "document.querySelector('.quick-input-list .monaco-list-row.focused')";
    if (row) await this.until(`${focused}?.getAttribute('aria-label')?.includes(${quoted(row)})`);
    else await sleep(100);
    const typed = await this.value('document.activeElement.value');
    await this.key('Enter');
    await this.until(
      `!document.activeElement.closest('.quick-input-widget') || document.activeElement.value !== ${quoted(typed)}`,
    );
  }

  command(title) {
    return this.quickInput('F1', title, title);
  }

  /** Opens a file by its path, without the search, which needs a program of its own. */
  async openFile(file) {
    const name = path.basename(file);
    await this.key('Control+o');
    await this.until("document.activeElement.closest('.quick-input-widget')");
    await this.value("document.execCommand('selectAll')");
    await this.insert(file);
    await this.shows('.quick-input-list .monaco-list-row', name);
    await this.key('Enter');
    await this.shows('.tab.active', name);
  }

  /** The cursor to a line and column, from 1. */
  async goTo(line, column = 1) {
    await this.quickInput('Control+g', `${line}:${column}`);
    await this.shows('.statusbar-item', `Ln ${line}, Col ${column}`);
  }

  /** The lines of an editor, the first unless told, in their order, without what hints add. */
  lines(editor = 0) {
    return this.value(`(() => {
      const shown = document.querySelectorAll('.editor-instance .view-lines')[${editor}];
      const lines = [...shown.querySelectorAll('.view-line')];
      return lines.sort((a, b) => parseFloat(a.style.top) - parseFloat(b.style.top)).map((line) => {
        const copy = line.cloneNode(true);
        copy.querySelectorAll('[class*=dyn-rule]').forEach((hint) => hint.remove());
        return copy.textContent.replace(/\\u00a0/g, ' ');
      });
    })()`);
  }

  screenshot(file) {
    return this.tab.screenshot(file);
  }
}

module.exports = { Window, sleep };
