// Parses Markdown to a tree of elements. The tree contains no HTML: HTML is shown as text, so a note
// cannot make a page run or load anything.

export type Inline =
  | { kind: 'text' | 'code'; text: string }
  | { kind: 'strong' | 'em' | 'del'; of: Inline[] }
  | { kind: 'link'; to: string; of: Inline[] }
  | { kind: 'break' };

export type Block =
  | { kind: 'heading'; level: number; of: Inline[] }
  | { kind: 'paragraph'; of: Inline[] }
  | { kind: 'code'; text: string; language: string }
  | { kind: 'quote'; of: Block[] }
  | { kind: 'list'; ordered: boolean; start: number; items: { done: boolean | null; of: Block[] }[] }
  | { kind: 'table'; align: ('left' | 'right' | 'center')[]; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'rule' };

// A note is text of another user, so no text may take long: each character is read a bounded number of times. No
// expression below has two repetitions side by side that accept the same character, and what is not closed is searched
// for once (ends).
const deepest = 12;
const longest = 400_000; // characters that are read
const most = 20_000; // elements; the rest is one text

interface Budget {
  left: number;
}

export function parse(text: string): Block[] {
  return blocks(text.slice(0, longest).replace(/\r\n?/g, '\n').replace(/\t/g, '    ').split('\n'), 0, { left: most });
}

const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w+-]*)/;
const heading = /^ {0,3}(#{1,6})\s/;
const rule = /^ {0,3}([-*_])( *\1){2,} *$/;
const item = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)(.*)$/;
const divider = /^\|? *:?-+:? *(\| *:?-+:? *)*\|?$/; // of a line without spaces around it

// titleOf is the text of a heading, without the # that may close it.
function titleOf(line: string, marks: string): string {
  const text = line.slice(line.indexOf(marks) + marks.length).trim();
  let end = text.length;
  while (text[end - 1] === '#') end--;
  return end === 0 || text[end - 1] === ' ' ? text.slice(0, end).trimEnd() : text;
}

function blocks(lines: string[], depth: number, budget: Budget): Block[] {
  const out: Block[] = [];
  let i = 0;
  while (i < lines.length) {
    const line = lines[i]!;
    if (!line.trim()) {
      i++;
      continue;
    }
    if (budget.left-- <= 0) {
      out.push({ kind: 'paragraph', of: [{ kind: 'text', text: lines.slice(i).join('\n') }] });
      break;
    }
    const f = line.match(fence);
    if (f) {
      const body: string[] = [];
      for (i++; i < lines.length && !lines[i]!.trim().startsWith(f[1]!); i++) body.push(lines[i]!);
      i++;
      out.push({ kind: 'code', text: body.join('\n'), language: f[2] ?? '' });
      continue;
    }
    const h = line.match(heading);
    if (h) {
      out.push({ kind: 'heading', level: h[1]!.length, of: inline(titleOf(line, h[1]!), 0, budget) });
      i++;
      continue;
    }
    if (rule.test(line)) {
      out.push({ kind: 'rule' });
      i++;
      continue;
    }
    if (/^ {0,3}>/.test(line) && depth < deepest) {
      const body: string[] = [];
      for (; i < lines.length && /^ {0,3}>/.test(lines[i]!); i++) body.push(lines[i]!.replace(/^ {0,3}> ?/, ''));
      out.push({ kind: 'quote', of: blocks(body, depth + 1, budget) });
      continue;
    }
    const first = line.match(item);
    if (first && depth < deepest) {
      const ordered = /\d/.test(first[2]!);
      const items: { done: boolean | null; of: Block[] }[] = [];
      while (i < lines.length && (budget.left-- > 0 || !items.length)) {
        const m = lines[i]!.match(item);
        if (!m || /\d/.test(m[2]!) !== ordered || rule.test(lines[i]!)) break;
        const indent = m[1]!.length + m[2]!.length + 1;
        const body = [m[4]!];
        for (i++; i < lines.length; i++) {
          const next = lines[i]!;
          if (!next.trim()) {
            if (!/^ /.test(lines[i + 1] ?? '')) break;
            body.push('');
          } else if (next.match(/^ */)![0].length >= Math.min(indent, 2) && !(next.match(item) && next.match(/^ */)![0].length < 2)) body.push(next.replace(new RegExp(`^ {0,${indent}}`), ''));
          else if (!item.test(next) && !heading.test(next) && !fence.test(next) && body[body.length - 1]?.trim()) body.push(next.trim());
          else break;
        }
        const task = body[0]!.match(/^\[([ xX])\] (.*)$/);
        if (task) body[0] = task[2]!;
        items.push({ done: task ? task[1] !== ' ' : null, of: blocks(body, depth + 1, budget) });
        while (i < lines.length && !lines[i]!.trim() && lines[i + 1]?.match(item)) i++;
      }
      out.push({ kind: 'list', ordered, start: ordered ? parseInt(first[2]!, 10) : 1, items });
      continue;
    }
    if (line.includes('|') && divider.test((lines[i + 1] ?? '').trim())) {
      const align = cells(lines[i + 1]!).map((c): 'left' | 'right' | 'center' => (/^:.*:$/.test(c) ? 'center' : c.endsWith(':') ? 'right' : 'left'));
      const head = cells(line).map((c) => inline(c, 0, budget));
      const rows: Inline[][][] = [];
      for (i += 2; i < lines.length && budget.left > 0 && lines[i]!.trim() && lines[i]!.includes('|'); i++) {
        const row = cells(lines[i]!).slice(0, head.length);
        budget.left -= row.length;
        rows.push(row.map((c) => inline(c, 0, budget)));
      }
      out.push({ kind: 'table', align, head, rows });
      continue;
    }
    const body: string[] = [];
    for (; i < lines.length; i++) {
      const next = lines[i]!;
      if (!next.trim() || (body.length && (fence.test(next) || heading.test(next) || rule.test(next) || /^ {0,3}>/.test(next) || item.test(next)))) break;
      body.push(next.replace(/^ +/, ''));
    }
    if (!body.length) body.push(lines[i++]!.trim());
    out.push({ kind: 'paragraph', of: inline(body.join('\n'), 0, budget) });
  }
  return out;
}

const cells = (line: string): string[] => line.trim().replace(/^\|/, '').replace(/\|$/, '').split('|').map((c) => c.trim());

// safe returns an address if a link may have it: a web address, a mail address, or a path of this master.
export function safe(to: string): string | null {
  const s = to.trim();
  if (/^(https?:\/\/|mailto:)/i.test(s)) return s;
  return /^[/#](?![/\\])/.test(s) && !/[\u0000-\u001f\\]/.test(s) ? s : null;
}

// ends returns a function that finds where a text has something next, from a position that grows. It searches each
// part of the text once, also if there is nothing to find.
function ends(text: string, find: (from: number) => number): (from: number) => number {
  let asked = 0, found = -1;
  return (from) => {
    if (found < from || from < asked) {
      asked = from;
      found = find(from);
      if (found < 0) found = text.length;
    }
    return found;
  };
}

// Ends has the searches for what closes an element, for one text.
interface Ends {
  of: Record<'*' | '_' | ']', (from: number) => number>;
  twice: Record<string, (from: number) => number>; // ** and __ and ~~ after something else than a space
  target: (from: number) => number; // the end of a link's address
  run: (length: number, from: number) => number; // a run of as many backticks
}

function endsOf(text: string): Ends {
  const char = (c: string) => ends(text, (from) => text.indexOf(c, from));
  const twice = (mark: string) => ends(text, (from) => {
    for (let at = text.indexOf(mark, from); at >= 0; at = text.indexOf(mark, at + 1)) if (/\S/.test(text[at - 1] ?? ' ')) return at;
    return -1;
  });
  const space = /[)\s>]/g;
  let runs: Map<number, { at: number[]; next: number }> | undefined;
  return {
    of: { '*': char('*'), _: char('_'), ']': char(']') },
    twice: { '**': twice('**'), __: twice('__'), '~~': twice('~~') },
    target: ends(text, (from) => {
      space.lastIndex = from;
      return space.exec(text)?.index ?? -1;
    }),
    run: (length, from) => {
      if (!runs) {
        runs = new Map();
        for (const r of text.matchAll(/`+/g)) {
          const same = runs.get(r[0].length);
          if (same) same.at.push(r.index);
          else runs.set(r[0].length, { at: [r.index], next: 0 });
        }
      }
      const same = runs.get(length);
      while (same && same.next < same.at.length && same.at[same.next]! < from) same.next++;
      return same?.at[same.next] ?? -1;
    },
  };
}

// at matches an expression with the flag y at a position.
function at(expression: RegExp, text: string, from: number): RegExpExecArray | null {
  expression.lastIndex = from;
  return expression.exec(text);
}

const special = /[\\`*_~[!<\n]|https?:\/\//g;
const escaped = /\\([\\`*_{}[\]()#+\-.!~|<>])/y;
const afterTarget = />?(?:\s{1,20}"[^"]{0,500}")?\s{0,20}\)/y;
const bracketed = /<(https?:\/\/[^\s<>]{1,2000})>/y;
const bare = /https?:\/\/[^\s<>)\]]{1,2000}(?<![.,;:!?'"])/y;
const longestLabel = 500, longestTarget = 2000;

// A Piece is an element of a text and where it ends.
interface Piece {
  end: number;
  make: () => Inline | string;
}

export function inline(text: string, depth = 0, budget: Budget = { left: most }): Inline[] {
  const out: Inline[] = [];
  const say = (t: string) => {
    const last = out[out.length - 1];
    if (last?.kind === 'text') last.text += t;
    else if (t) out.push({ kind: 'text', text: t });
  };
  if (depth > deepest) {
    say(text);
    return out;
  }
  const find = endsOf(text);
  let from = 0; // what is before it is in out
  while (from < text.length) {
    special.lastIndex = from;
    const i = budget.left > 0 ? special.exec(text)?.index ?? -1 : -1;
    if (i < 0) {
      say(text.slice(from));
      break;
    }
    if (text[i] === '\n') {
      let spaces = i;
      while (spaces > from && text[spaces - 1] === ' ') spaces--;
      say(text.slice(from, i - spaces >= 2 ? spaces : i));
      if (i - spaces >= 2) out.push({ kind: 'break' }), budget.left--;
      else say(' ');
      from = i + 1;
      continue;
    }
    say(text.slice(from, i));
    const piece = pieceAt(text, i, find, (part) => inline(part, depth + 1, budget));
    const made = piece?.make() ?? text[i]!;
    if (typeof made === 'string') say(made);
    else out.push(made), budget.left--;
    from = piece?.end ?? i + 1;
  }
  return out;
}

// pieceAt is the element that begins at a position; undefined if none does.
function pieceAt(text: string, i: number, find: Ends, inner: (part: string) => Inline[]): Piece | undefined {
  const c = text[i]!, mark = c + c;
  const twice = find.twice[mark];
  const filled = (k: number) => /\S/.test(text[k] ?? ' ');
  if (c === '\\') {
    const m = at(escaped, text, i);
    return m ? { end: i + 2, make: () => m[1]! } : undefined;
  }
  if (c === '`') return codeAt(text, i, find);
  if (twice && text[i + 1] === c && filled(i + 2)) {
    const end = twice(i + 3);
    if (end < text.length) return { end: end + 2, make: () => ({ kind: c === '~' ? 'del' : 'strong', of: inner(text.slice(i + 2, end)) }) };
  }
  if ((c === '*' || c === '_') && filled(i + 1)) {
    const end = find.of[c](i + 1);
    if (end < text.length && end > i + 1 && filled(end - 1) && !(c === '_' && /\w/.test(text[end + 1] ?? ' '))) return { end: end + 1, make: () => ({ kind: 'em', of: inner(text.slice(i + 1, end)) }) };
    return undefined;
  }
  if (c === '[' || (c === '!' && text[i + 1] === '[')) return linkAt(text, c === '[' ? i : i + 1, i, find, inner);
  if (c !== '<' && c !== 'h') return undefined;
  const m = at(c === '<' ? bracketed : bare, text, i);
  if (!m) return undefined;
  const to = m[1] ?? m[0];
  return { end: i + m[0].length, make: () => ({ kind: 'link', to, of: [{ kind: 'text', text: to }] }) };
}

function codeAt(text: string, i: number, find: Ends): Piece {
  let start = i;
  while (text[start] === '`') start++;
  const marks = start - i, end = find.run(marks, start);
  if (end < 0) return { end: start, make: () => text.slice(i, start) };
  return { end: end + marks, make: () => ({ kind: 'code', text: text.slice(start, end).replace(/\n/g, ' ').replace(/^ (.*) $/, '$1') }) };
}

// linkAt is a link, also for an image: a note loads nothing from elsewhere.
function linkAt(text: string, open: number, i: number, find: Ends, inner: (part: string) => Inline[]): Piece | undefined {
  const close = find.of[']'](open + 1);
  if (close - open > longestLabel || text[close + 1] !== '(') return undefined;
  let from = close + 2;
  while (from < text.length && from < close + 22 && /\s/.test(text[from]!)) from++;
  if (text[from] === '<') from++;
  const stop = find.target(from);
  if (stop - from > longestTarget) return undefined;
  const rest = at(afterTarget, text, stop);
  if (!rest) return undefined;
  const label = text.slice(open + 1, close), target = text.slice(from, stop), end = stop + rest[0].length, to = safe(target);
  return { end, make: () => (to ? { kind: 'link', to, of: inner(label || target) } : text.slice(i, end)) };
}
