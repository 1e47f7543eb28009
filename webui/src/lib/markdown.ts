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

const deepest = 12;
const longest = 400_000; // characters that are read

export function parse(text: string): Block[] {
  return blocks(text.slice(0, longest).replace(/\r\n?/g, '\n').replace(/\t/g, '    ').split('\n'), 0);
}

const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w+-]*)/;
const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const rule = /^ {0,3}([-*_])( *\1){2,} *$/;
const item = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)(.*)$/;
const divider = /^ *\|? *:?-+:? *(\| *:?-+:? *)*\|? *$/;

function blocks(lines: string[], depth: number): Block[] {
  const out: Block[] = [];
  let i = 0;
  while (i < lines.length) {
    const line = lines[i]!;
    if (!line.trim()) {
      i++;
      continue;
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
      out.push({ kind: 'heading', level: h[1]!.length, of: inline(h[2]!) });
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
      out.push({ kind: 'quote', of: blocks(body, depth + 1) });
      continue;
    }
    const first = line.match(item);
    if (first && depth < deepest) {
      const ordered = /\d/.test(first[2]!);
      const items: { done: boolean | null; of: Block[] }[] = [];
      while (i < lines.length) {
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
        items.push({ done: task ? task[1] !== ' ' : null, of: blocks(body, depth + 1) });
        while (i < lines.length && !lines[i]!.trim() && lines[i + 1]?.match(item)) i++;
      }
      out.push({ kind: 'list', ordered, start: ordered ? parseInt(first[2]!, 10) : 1, items });
      continue;
    }
    if (line.includes('|') && divider.test(lines[i + 1] ?? '') && (lines[i + 1] ?? '').includes('-')) {
      const align = cells(lines[i + 1]!).map((c): 'left' | 'right' | 'center' => (/^:.*:$/.test(c) ? 'center' : c.endsWith(':') ? 'right' : 'left'));
      const head = cells(line).map(inline);
      const rows: Inline[][][] = [];
      for (i += 2; i < lines.length && lines[i]!.trim() && lines[i]!.includes('|'); i++) rows.push(cells(lines[i]!).slice(0, head.length).map(inline));
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
    out.push({ kind: 'paragraph', of: inline(body.join('\n')) });
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

export function inline(text: string, depth = 0): Inline[] {
  const out: Inline[] = [];
  const say = (t: string) => {
    const last = out[out.length - 1];
    if (last?.kind === 'text') last.text += t;
    else if (t) out.push({ kind: 'text', text: t });
  };
  let rest = text;
  while (rest) {
    const at = rest.search(/[\\`*_~[!<\n]|https?:\/\//);
    if (at < 0 || depth > deepest) {
      say(rest);
      break;
    }
    say(rest.slice(0, at));
    rest = rest.slice(at);
    let m: RegExpMatchArray | null;
    if ((m = rest.match(/^\\([\\`*_{}[\]()#+\-.!~|<>])/))) say(m[1]!);
    else if ((m = rest.match(/^(`+)([\s\S]*?[^`])\1(?!`)/))) out.push({ kind: 'code', text: m[2]!.replace(/\n/g, ' ').replace(/^ (.*) $/, '$1') });
    else if ((m = rest.match(/^(\*\*|__)(?=\S)([\s\S]*?\S)\1/))) out.push({ kind: 'strong', of: inline(m[2]!, depth + 1) });
    else if ((m = rest.match(/^~~(?=\S)([\s\S]*?\S)~~/))) out.push({ kind: 'del', of: inline(m[1]!, depth + 1) });
    else if ((m = rest.match(/^\*(?=\S)([^*]*?\S)\*/) ?? rest.match(/^_(?=\S)([^_]*?\S)_(?!\w)/))) out.push({ kind: 'em', of: inline(m[1]!, depth + 1) });
    else if ((m = rest.match(/^!?\[([^\]]{0,500})\]\(\s*<?([^)\s>]{0,2000})>?(?:\s+"[^"]*")?\s*\)/))) {
      const to = safe(m[2]!);
      if (to) out.push({ kind: 'link', to, of: inline(m[1]! || m[2]!, depth + 1) }); // also of an image: a note loads nothing from elsewhere
      else say(m[0]);
    } else if ((m = rest.match(/^<(https?:\/\/[^\s<>]{1,2000})>/) ?? rest.match(/^(https?:\/\/[^\s<>)\]]{1,2000}[^\s<>)\].,;:!?'"])/))) out.push({ kind: 'link', to: m[1]!, of: [{ kind: 'text', text: m[1]! }] });
    else if ((m = rest.match(/^\n/))) {
      const last = out[out.length - 1];
      if (last?.kind === 'text' && / {2,}$/.test(last.text)) {
        last.text = last.text.trimEnd();
        out.push({ kind: 'break' });
      } else say(' ');
    } else m = [rest[0]!] as RegExpMatchArray, say(rest[0]!);
    rest = rest.slice(m[0].length);
  }
  return out;
}
