import { describe, expect, it } from 'vitest';
import { inline, parse, safe } from '../src/lib/markdown';
import { read } from '../src/lib/notebook';
import { paintCode } from '../src/lib/paint';
import { ending, lanesOf, rangeOf, spansOf } from '../src/lib/timeline';
import type { Attempt } from '../src/lib/types';

describe('Markdown', () => {
  it('has headings, lists, tables, code and quotes', () => {
    const tree = parse('# A *b*\n\ntext\nmore\n\n- [x] done\n- one\n  - two\n\n3. three\n\n> quoted\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```py\nx = 1\n```\n\n---\n');
    expect(tree.map((b) => b.kind)).toEqual(['heading', 'paragraph', 'list', 'list', 'quote', 'table', 'code', 'rule']);
    expect(tree[0]).toEqual({ kind: 'heading', level: 1, of: [{ kind: 'text', text: 'A ' }, { kind: 'em', of: [{ kind: 'text', text: 'b' }] }] });
    expect(tree[2]).toMatchObject({ ordered: false, items: [{ done: true }, { done: null, of: [{ kind: 'paragraph' }, { kind: 'list' }] }] });
    expect(tree[3]).toMatchObject({ ordered: true, start: 3 });
    expect(tree[5]).toMatchObject({ align: ['left', 'right'], rows: [[[{ text: '1' }], [{ text: '2' }]]] });
    expect(tree[6]).toEqual({ kind: 'code', text: 'x = 1', language: 'py' });
  });
  it('has no HTML: markup is text', () => {
    for (const bad of ['<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '<b>x</b>', '&lt;']) {
      expect(parse(bad)).toEqual([{ kind: 'paragraph', of: [{ kind: 'text', text: bad }] }]);
    }
  });
  it.each([
    ['https://a.example/x', true], ['http://a', true], ['mailto:a@b', true], ['/experiments/3', true], ['#here', true],
    ['javascript:alert(1)', false], ['JAVASCRIPT:alert(1)', false], [' javascript:x', false], ['data:text/html,x', false], ['//evil.example', false], ['/\\evil.example', false], ['vbscript:x', false], ['file:///etc/passwd', false], ['', false],
  ])('a link to %j is allowed: %s', (to, ok) => {
    expect(safe(to) !== null).toBe(ok);
    const link = inline(`[a](${to})`)[0];
    expect(link?.kind === 'link').toBe(ok);
  });
  it('loads no image from elsewhere: it is a link', () => {
    expect(inline('![a cat](https://a.example/cat.png)')).toEqual([{ kind: 'link', to: 'https://a.example/cat.png', of: [{ kind: 'text', text: 'a cat' }] }]);
  });
  // A note of another user must not stop its reader's browser. Eight times the text may take eight times as long, and
  // takes 64 times as long where the work is quadratic.
  const fill = (part: string) => (n: number) => part.repeat(Math.ceil(n / part.length)).slice(0, n);
  const hostile: [string, (n: number) => string][] = [
    ...['[', '*', '`', '> ', '- ', '+ ', '1. ', '_a', '**a ', '__a ', '~~a ', '*a ', '** a', '|', '|-', 'a|b\n', '|a|b\n|-|-\n', '[a](', '[](', '![](', '[a](b "', '[a](b "c" ', '[a](<', '<https://', 'https://', 'https://.,', '~~', '\n', 'a\n', 'a  \n', '- a\n\n', '> a\n', '~~~\n', '\\', ' `a', '#', '# a\n', '***a_**__ ~~b `', '[a `b *c _d\n', '\t']
      .map((part): [string, (n: number) => string] => [JSON.stringify(part), fill(part)]),
    ['a heading with spaces', (n) => `# a${' '.repeat(n)}b`],
    ['a heading with spaces and #', (n) => `# a${' #'.repeat(n / 2)}b`],
    ['a divider of spaces', (n) => `a|b\n-${' '.repeat(n)}x`],
    ['a rule of spaces', (n) => `${'- '.repeat(n / 2)}x`],
    ['a title of spaces', (n) => `[a](b${' '.repeat(n)}`],
    ['runs of more and more backticks', (n) => Array.from({ length: Math.sqrt(2 * n) }, (_, i) => '`'.repeat(i + 1)).join(' a')],
    ['runs of fewer and fewer backticks', (n) => Array.from({ length: Math.sqrt(2 * n) }, (_, i, all = Math.sqrt(2 * n)) => '`'.repeat(Math.max(1, all - i))).join(' a')],
  ];
  it.each(hostile)('needs as much more time as there is more text: %s', (_, text) => {
    const took = (n: number) => Math.min(...[1, 2, 3].map(() => {
      const all = text(n), begun = performance.now();
      parse(all);
      return performance.now() - begun;
    }));
    const short = took(10_000), long = took(80_000);
    expect(long / Math.max(short, 10)).toBeLessThan(32);
  }, 60_000);
  it('makes a bounded number of elements, and shows the rest as text', () => {
    const count = (x: unknown): number => (Array.isArray(x) ? x.reduce((sum: number, y) => sum + count(y), 0) : x && typeof x === 'object' ? 1 + Object.values(x).reduce((sum: number, y) => sum + count(y), 0) : 0);
    for (const [what, text] of hostile) expect(count(parse(text(100_000))), what).toBeLessThan(100_000);
    const tree = parse(`${'*a*\n\n'.repeat(30_000)}the end`);
    expect(JSON.stringify(tree[tree.length - 1])).toContain('the end');
  }, 60_000);
  it('closes what a text closes, and nothing else', () => {
    const kinds = (text: string) => inline(text).map((x) => (x.kind === 'text' ? x.text : `${x.kind}:${'of' in x ? JSON.stringify(x.of.map((y) => ('text' in y ? y.text : y.kind))) : 'text' in x ? x.text : ''}`));
    expect(kinds('**a** b **c d')).toEqual(['strong:["a"]', ' b **c d']);
    expect(kinds('**a *b* c**')).toEqual(['strong:["a ","em"," c"]']);
    expect(kinds('*a * b*')).toEqual(['*a * b*']);
    expect(kinds('a_b_ _c_')).toEqual(['a', 'em:["b"]', ' ', 'em:["c"]']);
    expect(kinds('``a ` b`` `c')).toEqual(['code:a ` b', ' `c']);
    expect(kinds('``` a `b`')).toEqual(['``` a ', 'code:b']);
    expect(kinds('a  \nb\nc')).toEqual(['a', 'break:', 'b c']);
    expect(kinds('[a](/x "t") [b](/y [c](/z)')).toEqual(['link:["a"]', ' [b](/y ', 'link:["c"]']);
    expect(kinds('\\*a\\* https://a.example/x.')).toEqual(['*a* ', 'link:["https://a.example/x"]', '.']);
    expect(parse('## C# and more ##')).toEqual([{ kind: 'heading', level: 2, of: [{ kind: 'text', text: 'C# and more' }] }]);
  });
  it('keeps every word of ordinary text', () => {
    const words = (x: unknown): string => (Array.isArray(x) ? x.map(words).join('') : x && typeof x === 'object' ? Object.values(x).map((v) => (typeof v === 'object' ? words(v) : '')).join('') + ((x as { text?: string }).text ?? '') : '');
    const text = 'snake_case and 2 * 3 * 4, a [bracket], `code`, ~tilde~, https://a.example/b_c.';
    expect(words(parse(text))).toContain('snake_case and 2 * 3 * 4, a [bracket], ');
    expect(JSON.stringify(parse(text))).toContain('https://a.example/b_c"');
  });
});

describe('a notebook', () => {
  const book = (cells: unknown) => JSON.stringify({ nbformat: 4, cells });
  it('has its cells with what they gave', () => {
    const b = read(book([
      { cell_type: 'markdown', source: ['# A\n', 'b'] }, { cell_type: 'code', execution_count: 3, source: 'print(1)', outputs: [{ output_type: 'stream', text: ['1\n'] }, { output_type: 'error', ename: 'E', evalue: 'v', traceback: ['t'] }] },
    ]))!;
    expect(b.cells).toEqual([
      { kind: 'markdown', source: '# A\nb', count: null, outputs: [] },
      { kind: 'code', source: 'print(1)', count: 3, outputs: [{ kind: 'text', text: '1\n' }, { kind: 'error', text: 't' }] },
    ]);
  });
  it('shows pictures and texts, and runs nothing', () => {
    const out = (data: unknown) => read(book([{ cell_type: 'code', source: '', outputs: [{ output_type: 'display_data', data }] }]))!.cells[0]!.outputs;
    expect(out({ 'image/png': 'aGk=\n', 'text/html': '<script>' })).toEqual([{ kind: 'image', source: 'data:image/png;base64,aGk=' }]);
    expect(out({ 'image/png': '"><script>' })).toEqual([{ kind: 'left', what: 'image/png' }]);
    expect(out({ 'image/svg+xml': '<svg onload=alert(1)>' })).toEqual([{ kind: 'left', what: 'image/svg+xml' }]);
    expect(out({ 'text/html': '<b>x</b>', 'text/plain': 'x' })).toEqual([{ kind: 'text', text: 'x' }]);
    expect(out({ 'application/javascript': 'alert(1)' })).toEqual([{ kind: 'left', what: 'application/javascript' }]);
  });
  it('that is none is told from one', () => {
    for (const bad of ['', '{', '[]', 'null', '{"cells":3}']) expect(read(bad)).toBeNull();
    expect(read(book([null, 3, {}, { cell_type: 'code', source: 3, outputs: [null, 4, { output_type: 'stream', text: {} }] }]))!.cells).toHaveLength(2);
  });
});

describe('code', () => {
  const told = (line: string, path: string) => paintCode(line, path).map((p) => `${p.kind || '-'}:${p.text}`).join('|');
  it.each([
    ['def f(x=1): # note', 'a.py', 'key:def|-: f(x=|number:1|-:): |note:# note'],
    ['s = "a # b"', 'a.py', '-:s = |text:"a # b"'],
    ['x := "a" // c', 'a.go', '-:x := |text:"a"|-: |note:// c'],
    ['"open', 'a.py', 'text:"open'],
    ['anything # at all', 'a.txt', '-:anything # at all'],
  ])('%s of %s', (line, path, want) => expect(told(line, path)).toBe(want));
  it('loses nothing', () => {
    for (const line of ['', '   ', 'a\\', "'\\", 'é = "ü"', '0x', '"""']) expect(paintCode(line, 'a.py').map((p) => p.text).join('')).toBe(line);
  });
});

describe('a timeline', () => {
  const iso = (s: number) => new Date(s * 1000).toISOString();
  const attempt = (run: number, over: Partial<Attempt>): Attempt => ({
    allocationId: `t.${run}`, taskId: 't', trialId: 7, run, resourcePool: 'p', slots: 1, state: 'STATE_TERMINATED', outcome: '', queuedTime: iso(run * 100), assignedTime: null, startTime: null, endTime: null,
    preemptTime: null, preemptReason: '', killTime: null, killReason: '', exitCode: null, exitReason: '', waitingReason: '', nomadJob: '', nomadUrl: '', members: [], ...over,
  });
  it('divides an attempt into waiting, starting, running and leaving', () => {
    const a = attempt(1, { assignedTime: iso(110), startTime: iso(112), preemptTime: iso(150), endTime: iso(160), outcome: 'preempted', preemptReason: 'another job' });
    expect(spansOf(a, 0).map((s) => [s.phase, (s.to - s.from) / 1000])).toEqual([['queued', 10], ['starting', 2], ['running', 38], ['leaving', 10]]);
    expect(ending(a)).toEqual({ word: 'preempted', kind: 'hold', why: 'another job' });
    expect(ending({ ...a, preemptReason: 'it has trained to the end' }).word).toBe('completed');
    expect(ending({ ...a, preemptReason: 'the search stopped the trial early' })).toMatchObject({ word: 'stopped', kind: 'off' });
  });
  it('goes on while an attempt does', () => {
    expect(spansOf(attempt(1, {}), 130_000)).toEqual([{ phase: 'queued', from: 100_000, to: 130_000 }]);
    expect(ending(attempt(1, { state: 'STATE_QUEUED', waitingReason: 'no room' }))).toEqual({ word: 'queued', kind: 'wait', why: 'no room' });
    expect(spansOf(attempt(1, { endTime: iso(100), outcome: 'killed' }), 0)).toEqual([]);
  });
  it('has a lane for each trial, and the range of all', () => {
    const lanes = lanesOf([attempt(3, { endTime: iso(400), outcome: 'failed', exitReason: 'it broke' }), attempt(1, { endTime: iso(200), outcome: 'completed' }), attempt(2, { taskId: 'u', trialId: 8, endTime: iso(300), outcome: 'lost' })], 0);
    expect(lanes.map((l) => [l.trial, l.lines.map((x) => x.attempt.run)])).toEqual([[7, [1, 3]], [8, [2]]]);
    const goesOn = lanesOf([attempt(1, {}), attempt(2, { taskId: 't-1' }), attempt(1, { taskId: 'v', trialId: 0 }), attempt(1, { taskId: 'w', trialId: 0 })], 300_000);
    expect(goesOn.map((l) => [l.key, l.lines.length])).toEqual([['trial 7', 2], ['v', 1], ['w', 1]]);
    expect(rangeOf(lanes, 0)).toEqual([100_000, 400_000]);
    expect(rangeOf([], 100_000)).toEqual([40_000, 100_000]);
    expect(ending(lanes[0]!.lines[1]!.attempt)).toEqual({ word: 'failed', kind: 'bad', why: 'it broke' });
  });
});
