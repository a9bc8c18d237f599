// Elements, numbers as people read them, and the colours of code. Texts become text nodes, never markup.

function el(name, attributes = {}, ...children) {
  const node = name.startsWith('svg:')
    ? document.createElementNS('http://www.w3.org/2000/svg', name.slice(4))
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, '');
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

const count = (n, one, many = one + 's') => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

function scaled(number, units, step) {
  let unit = 0;
  while (number >= step && unit + 1 < units.length) {
    number /= step;
    unit++;
  }
  const digits = unit === 0 && Number.isInteger(number) ? 0 : number < 10 ? 2 : number < 100 ? 1 : 0;
  return `${number.toFixed(digits)}\u202f${units[unit]}`.trimEnd();
}
const siText = (number, unit = '') =>
  scaled(
    number,
    ['', 'k', 'M', 'G', 'T', 'P'].map((u) => u + unit),
    1000,
  );
/** A number of so many digits that count: 1,370 and 0.499, no powers of ten. */
const digitsText = (number, digits) =>
  Number(number.toPrecision(digits)).toLocaleString('en', { maximumSignificantDigits: digits });
const bytesText = (bytes) => scaled(bytes, ['B', 'KB', 'MB', 'GB', 'TB'], 1000);
const timeText = (us) =>
  us === 0
    ? '0'
    : us < 1e-3
      ? `${(us * 1e3).toPrecision(2)}\u202fns`
      : us < 1
        ? `${(us * 1e3).toPrecision(3)}\u202fns`
        : scaled(us, ['µs', 'ms', 's'], 1000);
const msText = (ms) => (ms < 0.0995 ? `${ms.toFixed(2)}` : ms < 9.95 ? ms.toFixed(1) : ms.toFixed(0)) + '\u202fms';

/** UTF-16 position of a byte of a line. */
function indexOfByte(text, byte) {
  let at = 0;
  for (let bytes = 0; at < text.length && bytes < byte; ) {
    const point = text.codePointAt(at);
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    at += point < 0x10000 ? 1 : 2;
  }
  return at;
}

const DTYPES = 'f64|f32|tf32|bf16|f16|f8e4m3|f8e5m2|i64|i32|i16|i8|i4|u64|u32|u16|u8|i1|bool';
const KEYWORDS =
  'and|assert|break|const|continue|def|dim|elif|else|fn|for|from|if|import|in|jit|lambda|module|not|on|or|' +
  'param|pass|return|where|while|with|True|False|None';

/** One pattern each; a group's name is the class of what it matches. */
const PATTERNS = {
  source: new RegExp(
    String.raw`(?<comment>#.*)|(?<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<op>@[A-Za-z_][\w.]*)(?=\s*$|\()|` +
      String.raw`(?<word>\b(?:${KEYWORDS})\b|^\s*%\w+)|` +
      String.raw`(?<type>\b(?:Tensor|Param|Tile|KTile|KVCache|Region|${DTYPES})\b)|` +
      String.raw`(?<number>\b\d[\w.]*)`,
    'g',
  ),
  ir: new RegExp(
    String.raw`(?<string>"(?:[^"\\]|\\.)*")|(?<symbol>@[\w.$]+)|(?<value>%[\w.]+)|` +
      String.raw`(?<op>\b(?:gir|sched|host|tile|target|x86|nv)\.[\w.]+)|` +
      String.raw`(?<word>\^\d+|\bdo\b)|(?<type>\b(?:tensor|tile|view|reg|ptr|memory|shared)(?=<)|\b(?:${DTYPES})\b)|` +
      String.raw`(?<number>(?<![\w.])-?\d[\w.+-]*)`,
    'g',
  ),
  code: new RegExp(
    String.raw`(?<comment>(?:#|//).*)|(?<string>"(?:[^"\\]|\\.)*")|(?<word>^[^\s:]+:)|` +
      String.raw`(?<op>^\t(?:@!?%\w+ )?[a-z][\w.]*)|(?<type>^\t?\.\w+(?: \.\w+)*)|` +
      String.raw`(?<value>%[\w.]+)|(?<symbol>\b(?:BB_\d+|\.L\w+))|(?<number>\$?-?\b(?:0x[0-9a-f]+|\d+)\b)`,
    'g',
  ),
};

/** The text as spans, coloured by the pattern of its language. */
function coloured(text, language) {
  const out = document.createDocumentFragment();
  let at = 0;
  for (const match of text.matchAll(PATTERNS[language])) {
    if (match.index > at) out.append(text.slice(at, match.index));
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    out.append(el('span', { class: 't-' + kind }, match[0]));
    at = match.index + match[0].length;
  }
  out.append(text.slice(at));
  return out;
}
