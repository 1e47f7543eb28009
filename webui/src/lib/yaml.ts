// Shows the master's form of a configuration as YAML, with colours.
import { stringify } from 'yaml';

// emit writes a value as YAML.
export const emit = (value: unknown): string => stringify(value, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false }); // 1.1 quotes words such as yes

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
