// Converts the line of a filter to a tree of conditions for a form, and back.
// The language is the master's (docs/finding.md); the master decides whether a line is valid.

export interface Condition {
  column: string;
  op: Op;
  values: Value[]; // one; several for in and not in; none for empty and not empty
}

export interface Value {
  text: string;
  quoted: boolean; // text even if it looks like a number
}

export interface Group {
  any: boolean; // one of them holds, else all
  children: Node[];
}

export type Node = Condition | Group;

export const ops = ['=', '!=', '<', '<=', '>', '>=', '~', '!~', 'in', 'not in', 'is empty', 'is not empty'] as const;
export type Op = (typeof ops)[number];

export const isGroup = (n: Node): n is Group => 'children' in n;
export const unary = (op: Op): boolean => op === 'is empty' || op === 'is not empty';
export const many = (op: Op): boolean => op === 'in' || op === 'not in';

const symbols = ['==', '!=', '<>', '<=', '>=', '!~', '<', '>', '=', '~', '(', ')', ','];
const wordSign = /^[\p{L}\p{N}\p{M}_\-.:/+@%#$*&[\]{}|;?^\\]/u;

interface Token {
  kind: 'word' | 'quoted' | 'symbol' | 'end';
  text: string;
  raw: string; // a word as it was written, with the quotes within
}

class Foreign extends Error {}

function lex(line: string): Token[] {
  const out: Token[] = [];
  let i = 0;
  const quoted = (): string => {
    const closing = line[i++];
    let text = '';
    for (; i < line.length; i++) {
      if (line[i] === closing) {
        i++;
        return text;
      }
      if (line[i] === '\\' && i + 1 < line.length) i++;
      text += line[i];
    }
    throw new Foreign('the closing quote is missing');
  };
  while (i < line.length) {
    const c = line[i]!;
    if (/\s/.test(c)) {
      i++;
      continue;
    }
    if (c === '"' || c === "'") {
      const text = quoted();
      out.push({ kind: 'quoted', text, raw: text });
      continue;
    }
    if (wordSign.test(line.slice(i, i + 2))) {
      const from = i;
      let text = '';
      for (;;) {
        const rest = line.slice(i, i + 2);
        if ((rest[0] === '"' || rest[0] === "'") && text.endsWith('.')) {
          text += quoted();
          continue;
        }
        const sign = wordSign.exec(rest)?.[0];
        if (!sign) break;
        text += sign;
        i += sign.length;
      }
      out.push({ kind: 'word', text, raw: line.slice(from, i) });
      continue;
    }
    const symbol = symbols.find((s) => line.startsWith(s, i));
    if (!symbol) throw new Foreign(`unexpected ${c}`);
    out.push({ kind: 'symbol', text: symbol, raw: symbol });
    i += symbol.length;
  }
  out.push({ kind: 'end', text: '', raw: '' });
  return out;
}

// parse reads a line; null if it is wrong, or has something that a form cannot show (not).
export function parse(line: string): Group | null {
  if (!line.trim()) return { any: false, children: [] };
  try {
    const tokens = lex(line);
    let at = 0;
    const peek = () => tokens[at]!;
    const is = (word: string) => peek().kind === 'word' && peek().text.toLowerCase() === word;
    const take = (word: string) => is(word) && ++at > 0;
    const symbol = (s: string) => peek().kind === 'symbol' && peek().text === s && ++at > 0;
    const joined = (word: string, any: boolean, one: () => Node): Node => {
      const first = one();
      if (!is(word)) return first;
      const children = [first];
      while (take(word)) children.push(one());
      return { any, children };
    };
    const either = (): Node => joined('or', true, () => joined('and', false, single));
    const value = (): Value => {
      const t = tokens[at++]!;
      if (t.kind !== 'word' && t.kind !== 'quoted') throw new Foreign('a value is missing');
      return { text: t.text, quoted: t.kind === 'quoted' };
    };
    const single = (): Node => {
      if (is('not')) throw new Foreign('not');
      if (symbol('(')) {
        const n = either();
        if (!symbol(')')) throw new Foreign('a parenthesis is missing');
        return n;
      }
      const column = tokens[at++]!;
      if (column.kind !== 'word') throw new Foreign('a column is missing');
      const op = operator();
      if (unary(op)) return { column: column.raw, op, values: [] };
      if (!many(op)) return { column: column.raw, op, values: [value()] };
      if (!symbol('(')) throw new Foreign('a list is missing');
      const values = [value()];
      while (symbol(',')) values.push(value());
      if (!symbol(')')) throw new Foreign('a parenthesis is missing');
      return { column: column.raw, op, values };
    };
    const operator = (): Op => {
      if (take('contains')) return '~';
      if (take('in')) return 'in';
      if (take('not')) {
        if (take('contains')) return '!~';
        if (take('in')) return 'not in';
        throw new Foreign('an operator is missing');
      }
      if (take('is')) {
        const not = take('not');
        if (!take('empty')) throw new Foreign('empty is missing');
        return not ? 'is not empty' : 'is empty';
      }
      const t = tokens[at++]!;
      const op = t.kind === 'symbol' ? ({ '==': '=', '<>': '!=' }[t.text] ?? t.text) : '';
      if (!ops.includes(op as Op) || op.length > 2) throw new Foreign('an operator is missing');
      return op as Op;
    };
    const root = either();
    if (peek().kind !== 'end') return null;
    return isGroup(root) ? root : { any: false, children: [root] };
  } catch (error) {
    if (error instanceof Foreign) return null;
    throw error;
  }
}

const plain = /^[\p{L}\p{N}\p{M}_\-.:/+@%#$*&[\]{}|;?^]+$/u;
const keyword = /^(and|or|not|in|is|contains|empty)$/i;

function write(v: Value): string {
  if (!v.quoted && plain.test(v.text) && !keyword.test(v.text)) return v.text;
  return `"${v.text.replace(/[\\"]/g, '\\$&')}"`;
}

// complete reports whether a condition can be sent; the user may still be writing it.
export function complete(n: Node): boolean {
  if (isGroup(n)) return n.children.some(complete);
  return n.column.trim() !== '' && (unary(n.op) || (n.values.length > 0 && n.values.every((v) => v.text !== '')));
}

// lineOf writes the complete conditions of a tree.
export function lineOf(n: Node, inside = false): string {
  if (!isGroup(n)) {
    if (unary(n.op)) return `${n.column} ${n.op}`;
    return `${n.column} ${n.op} ${many(n.op) ? `(${n.values.map(write).join(', ')})` : write(n.values[0]!)}`;
  }
  const parts = n.children.filter(complete).map((c) => lineOf(c, true));
  const text = parts.join(n.any ? ' or ' : ' and ');
  return inside && parts.length > 1 ? `(${text})` : text;
}

export function count(n: Node): number {
  return isGroup(n) ? n.children.reduce((sum, c) => sum + count(c), 0) : complete(n) ? 1 : 0;
}

// columnOf writes the name of a column so that the language reads it as one word.
export function columnOf(name: string): string {
  return name.split('.').map((part) => (part === '' || plain.test(part) ? part : `"${part.replace(/[\\"]/g, '\\$&')}"`)).join('.');
}

const compared = /^(?:hp\.)?(.+?)\s*(<=|>=|!=|==|!~|=|<|>|~)\s*(.+)$/;
const mostNames = 3;

// asHyperparameter reads what somebody searches everything for, such as lr or lr < 0.1, as a filter on a hyperparameter that
// experiments have: lines to offer, and the one whose matches can be listed, if the name is exact.
export function asHyperparameter(typed: string, known: readonly string[]): { lines: string[]; exact: string } {
  const line = (name: string, op: Op, values: Value[]) => lineOf({ column: columnOf(`hp.${name}`), op, values });
  const named = (text: string) => known.find((k) => k === text) ?? known.find((k) => k.toLowerCase() === text.toLowerCase());
  const m = compared.exec(typed);
  if (m) {
    const name = named(m[1]!);
    const op = m[2] === '==' ? '=' : (m[2] as Op);
    if (!name) return { lines: [], exact: '' };
    const quoted = /^(["'])(.*)\1$/.exec(m[3]!);
    const exact = line(name, op, [{ text: quoted ? quoted[2]! : m[3]!, quoted: !!quoted }]);
    return { lines: [exact], exact };
  }
  const word = typed.replace(/^hp\./, '');
  if (!word) return { lines: [], exact: '' };
  const own = named(word);
  const names = [...(own ? [own] : []), ...known.filter((k) => k !== own && k.toLowerCase().includes(word.toLowerCase()))].slice(0, mostNames);
  const lines = names.map((k) => line(k, 'is not empty', []));
  return { lines, exact: own ? lines[0]! : '' };
}
