// JSON schemas of the protocol's messages, made of the TypeScript types that vscode-languageserver-protocol declares for
// each method. A property that a type does not have is refused.

'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');

const PACKAGE = 'vscode-languageserver-protocol';

/** What TypeScript knows as `number` alone. */
const NUMBERS = {
  integer: { type: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 },
  uinteger: { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 },
  decimal: { type: 'number' },
};

/** {method, params, result} of each namespace such as `HoverRequest`: the last two as text of a type, null for none. */
function readMethods(ts, modules) {
  const folder = path.join(modules, PACKAGE, 'lib/common');
  const found = [];
  for (const name of fs.readdirSync(folder).filter((name) => /^protocol.*\.d\.ts$/.test(name))) {
    const text = fs.readFileSync(path.join(folder, name), 'utf8');
    const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
    for (const statement of file.statements) {
      if (!ts.isModuleDeclaration(statement) || !ts.isModuleBlock(statement.body)) continue;
      const types = new Map();
      for (const member of statement.body.statements.filter(ts.isVariableStatement)) {
        for (const { name, type } of member.declarationList.declarations) types.set(name.text, type);
      }
      if (!types.has('method') || !types.has('type')) continue;
      const kind = types.get('type').typeName.getText(),
        args = types.get('type').typeArguments.map((argument) => argument.getText());
      const hasParams = !kind.endsWith('0'),
        isRequest = kind.includes('Request');
      found.push({
        method: types.get('method').literal.text,
        params: hasParams ? args[0] : null,
        result: isRequest ? args[hasParams ? 1 : 0] : null,
      });
    }
  }
  return found;
}

/** The names in a type that the package has to export. */
function namesIn(ts, text) {
  const names = new Set();
  const visit = (node) => {
    if (ts.isTypeReferenceNode(node)) names.add(node.typeName.getText().split('.')[0]);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('type.ts', `type T = ${text};`, ts.ScriptTarget.Latest, true));
  names.delete('Array');
  return names;
}

/** A program whose interface `Messages` has all of them by 'params METHOD' and 'result METHOD'. */
function sourceOf(ts, methods) {
  const names = new Set(),
    lines = [];
  for (const message of methods) {
    for (const part of ['params', 'result']) {
      if (message[part] === null) continue;
      const type = message[part] === 'void' ? 'null' : message[part];
      for (const name of namesIn(ts, type)) names.add(name);
      lines.push(`  ${JSON.stringify(`${part} ${message.method}`)}: ${type};`);
    }
  }
  return `import { ${[...names].join(', ')} } from '${PACKAGE}';\nexport interface Messages {\n${lines.join('\n')}\n}\n`;
}

/**
 * A function (part, method, value) that says what is wrong with the params or the result of a message, in words, or null
 * where nothing is. Fails where a package is missing.
 */
function protocolChecker(modules) {
  const ts = require(path.join(modules, 'typescript'));
  const { createGenerator } = require(path.join(modules, 'ts-json-schema-generator'));
  const Ajv = require(path.join(modules, 'ajv'));
  const methods = readMethods(ts, modules);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tessera-protocol-'));
  let schema;
  try {
    fs.symlinkSync(modules, path.join(folder, 'node_modules'));
    fs.writeFileSync(path.join(folder, 'messages.ts'), sourceOf(ts, methods));
    const compilerOptions = { strict: true, skipLibCheck: true, module: 'node16', moduleResolution: 'node16', types: [] };
    fs.writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['messages.ts'] }));
    schema = createGenerator({
      path: path.join(folder, 'messages.ts'),
      tsconfig: path.join(folder, 'tsconfig.json'),
      type: 'Messages',
      expose: 'all',
      jsDoc: 'none',
      additionalProperties: false,
    }).createSchema('Messages');
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
  for (const [name, number] of Object.entries(NUMBERS)) {
    if (!schema.definitions[name]) throw new Error(`the package has no type ${name}`);
    schema.definitions[name] = number;
  }
  const ajv = new Ajv({ strict: false, allErrors: false });
  const messages = schema.definitions.Messages.properties,
    known = new Map();
  return (part, method, value) => {
    const key = `${part} ${method}`;
    if (!messages[key]) return value === undefined ? null : `the protocol has no ${key}`;
    if (!known.has(key)) known.set(key, ajv.compile({ ...messages[key], definitions: schema.definitions }));
    const check = known.get(key);
    return check(value) ? null : `${key}: ${ajv.errorsText(check.errors, { dataVar: part })}`;
  };
}

module.exports = { protocolChecker };
