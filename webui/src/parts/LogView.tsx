// The log of a task or a trial: only the lines on the screen exist; colours as the program wrote
// them; it follows until somebody scrolls up; the search and the filters are the
// master's, so they find what this page has not read.
import Anser from 'anser';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError } from '../lib/api';
import { merge, page, read, since, type Line } from '../lib/logs';
import { params, setParams } from '../lib/router';
import { words } from '../lib/toast';
import { visible } from '../lib/window';
import { Empty } from './bits';

const lineHeight = 19;
const levels = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'];
const settle = 300; // milliseconds after the last key before a search begins
const again = 3000;

export function LogView({ log, over, name }: { log: string; over: boolean; name: string }) {
  const query = params.value;
  const wanted = { text: query.get('q') ?? '', level: query.get('level') ?? '', rank: query.get('rank') ?? '', node: query.get('node') ?? '' };
  const narrowed = !!(wanted.text || wanted.level || wanted.rank || wanted.node);
  const [lines, setLines] = useState<Line[]>([]);
  const [problem, setProblem] = useState('');
  const [began, setBegan] = useState(false); // the first lines are here, or there are none
  const [oldest, setOldest] = useState(false); // there are none before the first
  const [following, setFollowing] = useState(true);
  const [typed, setTyped] = useState(wanted.text);
  const [ranks, setRanks] = useState<number[]>([]);
  const [nodes, setNodes] = useState<string[]>([]);
  const box = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState(0);
  const [height, setHeight] = useState(480);
  const state = useRef({ lines, busy: false, before: 0, top: 0, over }); // top: the last known place of the scroll bar
  state.current.lines = lines;
  state.current.over = over;
  const filter = JSON.stringify([wanted.text, levelsFrom(wanted.level), wanted.rank, wanted.node]);
  const asked = { searchText: wanted.text, levels: levelsFrom(wanted.level).map((l) => `LOG_LEVEL_${l}`), rankIds: wanted.rank === '' ? [] : [wanted.rank], agentIds: wanted.node ? [wanted.node] : [] };

  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    setLines([]);
    setBegan(false);
    setOldest(false);
    setFollowing(true);
    state.current.lines = [];
    state.current.top = 0;
    const add = (more: Line[]) => {
      if (stop.signal.aborted) return;
      state.current.lines = merge(state.current.lines, more);
      setLines(state.current.lines);
      setRanks((known) => joined(known, more.flatMap((l) => (l.rank === undefined ? [] : [l.rank])), (a, b) => a - b));
      setNodes((known) => joined(known, more.flatMap((l) => (l.node ? [l.node] : [])), (a, b) => a.localeCompare(b, 'en', { numeric: true })));
    };
    let reading = new AbortController();
    const run = async () => {
      clearTimeout(timer);
      reading.abort();
      const { signal } = (reading = new AbortController());
      try {
        if (state.current.lines.length === 0) {
          let got = 0;
          const last: Line[] = [];
          await read(log, { ...asked, orderBy: 'ORDER_BY_DESC', limit: page }, signal, (lot) => {
            got += lot.length;
            last.push(...lot);
          });
          add(last);
          if (got < page) setOldest(true);
        }
        setBegan(true);
        setProblem('');
        await read(log, { ...asked, follow: true, timestampAfter: since(state.current.lines) }, signal, add);
        // The master has ended the stream: of a task that has ended, or because it ends itself.
        if (!state.current.over) timer = setTimeout(run, again);
      } catch (error) {
        if (signal.aborted) return;
        setBegan(true);
        setProblem(words(error));
        if (!(error instanceof ApiError) || error.away) timer = setTimeout(run, again);
      }
    };
    // A browser has few connections to a master: a hidden tab keeps none.
    const visibility = () => (document.hidden ? reading.abort() : void run());
    document.addEventListener('visibilitychange', visibility);
    void run();
    return () => {
      document.removeEventListener('visibilitychange', visibility);
      stop.abort();
      reading.abort();
      clearTimeout(timer);
    };
  }, [log, filter]);

  useEffect(() => {
    const el = box.current;
    if (!el) return;
    const watch = new ResizeObserver(() => setHeight(el.clientHeight));
    watch.observe(el);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    const el = box.current;
    if (!el) return;
    if (following) {
      // Somebody has scrolled up, and the browser has not said so yet: these lines do not pull them down.
      if (el.scrollTop < state.current.top) return;
      el.scrollTop = el.scrollHeight;
      state.current.top = el.scrollTop;
    } else if (state.current.before) { // older lines came in above: what is read stays where it is
      el.scrollTop += (lines.length - state.current.before) * lineHeight;
    }
    state.current.before = 0;
  }, [lines, following]);
  useEffect(() => {
    if (typed === wanted.text) return;
    const t = setTimeout(() => setParams({ q: typed }), settle);
    return () => clearTimeout(t);
  }, [typed]);

  const scrolled = async (e: Event) => {
    const el = e.currentTarget as HTMLElement;
    setScroll(el.scrollTop);
    state.current.top = el.scrollTop;
    const bottom = el.scrollHeight - el.scrollTop - el.clientHeight < lineHeight * 2;
    if (bottom !== following) setFollowing(bottom);
    if (el.scrollTop > lineHeight * 50 || oldest || state.current.busy || state.current.lines.length === 0) return;
    state.current.busy = true;
    try {
      const first = state.current.lines[0]!;
      const older: Line[] = [];
      // A little after the first line: lines of one moment must not be skipped.
      const before = new Date(Date.parse(first.at) + 1000).toISOString();
      const stop = new AbortController();
      await read(log, { ...asked, orderBy: 'ORDER_BY_DESC', limit: page * 2, timestampBefore: before }, stop.signal, (lot) => older.push(...lot));
      const fresh = older.filter((l) => l.n < first.n);
      if (fresh.length === 0) setOldest(true);
      state.current.before = state.current.lines.length;
      state.current.lines = merge(state.current.lines, fresh);
      setLines(state.current.lines);
    } catch (error) {
      setProblem(words(error));
    } finally {
      state.current.busy = false;
    }
  };

  const w = visible(lines.length, lineHeight, scroll, height);
  const digits = String(lines[lines.length - 1]?.n ?? 1).length;
  return (
    <section class="log" aria-label={name}>
      <div class="tools">
        <input type="search" placeholder="Search the log" aria-label="search the log" value={typed} onInput={(e) => setTyped(e.currentTarget.value)} />
        <select aria-label="level" value={wanted.level} onChange={(e) => setParams({ level: e.currentTarget.value })}>
          <option value="">every level</option>
          {levels.map((l) => <option key={l} value={l}>{l.toLowerCase()}{l === 'CRITICAL' ? '' : ' and worse'}</option>)}
        </select>
        {(ranks.length > 1 || wanted.rank !== '') && (
          <select aria-label="rank" value={wanted.rank} onChange={(e) => setParams({ rank: e.currentTarget.value })}>
            <option value="">every rank</option>
            {[...new Set([...ranks, ...(wanted.rank === '' ? [] : [Number(wanted.rank)])])].map((r) => <option key={r} value={r}>rank {r}</option>)}
          </select>
        )}
        {(nodes.length > 1 || wanted.node) && (
          <select aria-label="node" value={wanted.node} onChange={(e) => setParams({ node: e.currentTarget.value })}>
            <option value="">every node</option>
            {joined(nodes, wanted.node ? [wanted.node] : [], (a, b) => a.localeCompare(b)).map((n) => <option key={n} value={n}>{n}</option>)}
          </select>
        )}
        <span class="grow" />
        <span class="faint num" aria-live="off">{lines.length ? `${lines.length.toLocaleString('en')} lines${oldest ? '' : ' loaded'}` : ''}</span>
        <button type="button" class={following ? 'on' : ''} aria-pressed={following} onClick={() => setFollowing(!following)}>
          {following ? (over ? 'At the end' : 'Following') : 'To the end'}
        </button>
      </div>
      {problem && <p class="problem" role="alert">{problem}</p>}
      <div ref={box} class="lines" role="log" aria-live="off" tabIndex={0} aria-label={`lines of ${name}`} onScroll={scrolled}>
        {began && lines.length === 0 && !problem && (
          <Empty title={narrowed ? 'No line matches.' : over ? 'No output.' : 'No output yet.'}>
            {narrowed && <button type="button" onClick={() => { setTyped(''); setParams({ q: '', level: '', rank: '', node: '' }); }}>Show every line</button>}
          </Empty>
        )}
        <div style={{ height: `${w.total}px` }}>
          <div style={{ transform: `translateY(${w.above}px)` }}>
            {lines.slice(w.first, w.last).map((l) => <LogLine key={l.n} line={l} digits={digits} ranks={ranks.length > 1} nodes={nodes.length > 1} mark={wanted.text} />)}
          </div>
        </div>
      </div>
    </section>
  );
}

// joined adds what is new, in order; without news it is the same list.
function joined<T>(known: T[], more: readonly T[], order: (a: T, b: T) => number): T[] {
  const seen = new Set(known);
  for (const x of more) seen.add(x);
  return seen.size === known.length ? known : [...seen].sort(order);
}

// levelsFrom are a level and those that are worse.
function levelsFrom(level: string): string[] {
  const i = levels.indexOf(level);
  return i < 0 ? [] : levels.slice(i);
}

function LogLine({ line, digits, ranks, nodes, mark }: { line: Line; digits: number; ranks: boolean; nodes: boolean; mark: string }) {
  const parts = useMemo(() => spans(line.text, mark), [line.text, mark]);
  const level = line.level === 'ERROR' || line.level === 'CRITICAL' ? ' bad' : line.level === 'WARNING' ? ' warn' : '';
  return (
    <div class={`line${level}${line.stderr ? ' stderr' : ''}`}>
      <span class="no" style={{ width: `${digits + 1}ch` }}>{line.n}</span>
      <span class="at" title={line.at}>{line.at.slice(11, 19)}</span>
      {nodes && <span class="node" title={line.node}>{line.node}</span>}
      {ranks && <span class="rank">{line.rank === undefined ? '' : `r${line.rank}`}</span>}
      <span class="text">{parts.map((s, i) => <span key={i} class={s.class}>{s.text}</span>)}</span>
    </div>
  );
}

interface Span {
  text: string;
  class: string;
}

// spans cuts a line by its colours, and marks what was searched for.
export function spans(text: string, mark: string): Span[] {
  const colours = text.includes('\u001b')
    ? Anser.ansiToJson(text, { use_classes: true, remove_empty: true }).map((a) => ({
        text: a.content,
        class: [a.fg, a.bg && `${a.bg}-bg`, ...(a.decorations ?? [])].filter(Boolean).join(' '),
      }))
    : [{ text, class: '' }];
  if (!mark) return colours;
  const out: Span[] = [];
  const needle = mark.toLowerCase();
  for (const s of colours) {
    const low = s.text.toLowerCase();
    let at = 0;
    for (let i = low.indexOf(needle); i >= 0; i = low.indexOf(needle, at)) {
      if (i > at) out.push({ ...s, text: s.text.slice(at, i) });
      out.push({ text: s.text.slice(i, i + needle.length), class: `${s.class} found` });
      at = i + needle.length;
    }
    if (at < s.text.length) out.push({ ...s, text: s.text.slice(at) });
  }
  return out;
}
