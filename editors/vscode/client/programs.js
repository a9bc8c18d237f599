// Where the programs of Tessera are, and how one is run.

'use strict';
const { spawn } = require('child_process');
const fs = require('fs');
const path = require('path');

function isProgram(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** A path of a setting, which may begin with ${workspaceFolder}; else it counts from the folder. */
function pathOfSetting(setting, folder) {
  return path.resolve(folder || '.', setting.replace('${workspaceFolder}', folder));
}

/**
 * The file of a program: what the setting names, which may begin with ${workspaceFolder}, else the first in PATH.
 * Returns {file}, or {problem} in words for the user.
 */
function findProgram(name, { setting = '', settingName, folder = '', searchPath = process.env.PATH || '' }) {
  if (setting) {
    const file = pathOfSetting(setting, folder);
    if (isProgram(file)) return { file };
    return { problem: `The setting ${settingName} names ${file}, which is no program.` };
  }
  for (const directory of searchPath.split(path.delimiter)) {
    const file = path.join(directory, name);
    if (directory && isProgram(file)) return { file };
  }
  return {
    problem: `${name} is not in PATH. Build Tessera, and add its build/bin to PATH or set ${settingName}.`,
  };
}

/** Runs a program to its end: {code, output, errors}; code is null where it did not start or was ended. */
function run(file, args, { cwd, signal } = {}) {
  return new Promise((done) => {
    const child = spawn(file, args, { cwd, signal, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = [],
      errors = [];
    child.stdout.on('data', (bytes) => output.push(bytes));
    child.stderr.on('data', (bytes) => errors.push(bytes));
    child.on('error', (problem) => done({ code: null, output: '', errors: problem.message }));
    child.on('close', (code) =>
      done({ code, output: Buffer.concat(output).toString(), errors: Buffer.concat(errors).toString() }),
    );
  });
}

/** What a compiler that failed has to say, in a line: its first message, without folders and tags. */
function firstMessage(errors, name) {
  const message = errors.match(/^(?:.*[/\\])?([^/\\\n]+:\d+):\d+: (?:error|warning): (.*?)(?: \[[\w-]+\])?$/m);
  return message ? `${message[1]}: ${message[2]}` : errors.split('\n')[0] || `${name} ended without a word`;
}

module.exports = { findProgram, firstMessage, pathOfSetting, run };
