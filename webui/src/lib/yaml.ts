// Shows the master's form of a configuration as YAML, with colours.

const plainWord = /^[A-Za-z_./][\w ./@+-]*$/;
const looksElse = /^(true|false|yes|no|on|off|null|~|[-+.\d].*)$/i;

function scalar(v: unknown): string {
  if (typeof v !== 'string') return v === null || v === undefined ? 'null' : String(v);
  return plainWord.test(v) && !looksElse.test(v) && !/\s$/.test(v) ? v : JSON.stringify(v);
}

// emit writes a value as YAML.
export function emit(value: unknown, indent = ''): string {
  if (Array.isArray(value)) {
    return value.map((v) => (composite(v) ? `${indent}- ${emit(v, `${indent}  `).trimStart()}` : `${indent}- ${leaf(v)}\n`)).join('');
  }
  return Object.entries(value as Record<string, unknown>)
    .map(([k, v]) => (composite(v) ? `${indent}${scalar(k)}:\n${emit(v, `${indent}  `)}` : `${indent}${scalar(k)}: ${block(v, indent) ?? leaf(v)}\n`))
    .join('');
}

const composite = (v: unknown): v is object => typeof v === 'object' && v !== null && Object.keys(v).length > 0;

function leaf(v: unknown): string {
  if (Array.isArray(v)) return '[]';
  return typeof v === 'object' && v !== null ? '{}' : scalar(v);
}

function block(v: unknown, indent: string): string | null {
  if (typeof v !== 'string' || !v.includes('\n')) return null;
  const lines = v.replace(/\n$/, '').split('\n');
  return `|${v.endsWith('\n') ? '' : '-'}\n${lines.map((l) => (l ? `${indent}  ${l}` : '')).join('\n')}`;
}

export interface Piece {
  text: string;
  kind: '' | 'key' | 'note' | 'text' | 'number';
}

// paint divides a line of YAML into pieces by their kind.
export function paint(line: string): Piece[] {
  const out: Piece[] = [];
  const key = line.match(/^(\s*(?:- )*)([^\s#:"'{[-][^:#]*|"[^"]*"|'[^']*')(:)(?=\s|$)/);
  let rest = line;
  if (key) {
    out.push({ text: key[1] ?? '', kind: '' }, { text: key[2] ?? '', kind: 'key' }, { text: ':', kind: '' });
    rest = line.slice(key[0].length);
  }
  const note = noteAt(rest);
  const value = rest.slice(0, note);
  const bare = value.trim();
  if (value) out.push({ text: value, kind: /^["']/.test(bare) ? 'text' : /^[-+]?[\d.]+([eE][-+]?\d+)?$|^(true|false|null)$/.test(bare) ? 'number' : '' });
  if (note < rest.length) out.push({ text: rest.slice(note), kind: 'note' });
  return out.filter((p) => p.text);
}

// noteAt is where a comment begins: a # at the start or after a space, outside of quotes.
function noteAt(s: string): number {
  let quote = '';
  for (let i = 0; i < s.length; i++) {
    const c = s[i]!;
    if (quote) {
      if (c === quote) quote = '';
    } else if ((c === '"' || c === "'") && /[\s[{,:]$|^$/.test(s.slice(0, i))) quote = c;
    else if (c === '#' && (i === 0 || /\s/.test(s[i - 1]!))) return i;
  }
  return s.length;
}
