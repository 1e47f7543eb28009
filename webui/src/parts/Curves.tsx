// The charts of one or several trials, with one row of controls for all of them.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api } from '../lib/api';
import type { Curves as Data } from '../lib/curves';
import { plural } from '../lib/format';
import { linesOf, partOf, showOf, shows, splits, titleOf, type Show } from '../lib/lines';
import { go, params, setParams } from '../lib/router';
import { families, keyOf, load, overTime, parseKey, type Book, type Key, type Series } from '../lib/series';
import { complain } from '../lib/toast';
import { Chart, type Drawn } from './Chart';
import { Empty, Loading, Problem } from './bits';

const chartHeight = 260;
export const maxLines = 50; // of a chart
const colors = 8;

interface Props {
  data: Data;
  trials: number[];
  metric: string; // the searcher's
  over: boolean;
  best?: number | undefined; // a trial that is drawn over the others
  stopped?: ReadonlySet<number>; // trials that the search ended early
  names?: ReadonlyMap<number, string>; // of the trials, if not "trial 7"
}

export function Curves({ data, trials, metric, over, best, stopped, names }: Props) {
  const p = params.value;
  const time = p.get('x') === 'time';
  const log = p.get('log') === '1';
  const smoothing = Math.min(0.99, Math.max(0, Number(p.get('smooth')) || 0));
  const [find, setFind] = useState('');
  const charts = useMemo(() => families([...data.book.keys()].map(parseKey), metric), [data.version, metric]);
  const shown = charts.filter((c) => `${c.name} ${titleOf(c.keys)}`.toLowerCase().includes(find.toLowerCase()));
  const many = trials.length > 1, both = many && charts.some((c) => splits(c.keys));
  const show = showOf(p.get('lines'), trials.length);

  if (data.error) return <Problem what="Could not load the curves." error={data.error} retry={data.reload} />;
  if (!data.ready) return <Loading lines={5} />;
  if (charts.length === 0) {
    return <Empty title={over ? 'No metrics were reported.' : 'No metrics yet.'}>
      <p>{over ? 'See its log.' : 'Curves appear here as soon as the training reports metrics.'}</p>
    </Empty>;
  }
  return (
    <section aria-label="learning curves">
      <div class="tools">
        <span class="choices" role="group" aria-label="horizontal axis">
          <button type="button" class={time ? '' : 'on'} aria-pressed={!time} onClick={() => setParams({ x: '' })}>Batches</button>
          <button type="button" class={time ? 'on' : ''} aria-pressed={time} onClick={() => setParams({ x: 'time' })}>Time</button>
        </span>
        {both && (
          <span class="choices" role="group" aria-label="which curves">
            {shows.map((s) => <button key={s} type="button" class={s === show ? 'on' : ''} aria-pressed={s === show} onClick={() => setParams({ lines: s === showOf(null, trials.length) ? '' : s })}>{s[0]!.toUpperCase() + s.slice(1)}</button>)}
          </span>
        )}
        <label class="choice"><input type="checkbox" checked={log} onChange={() => setParams({ log: log ? '' : 1 })} /> Log scale</label>
        <label class="choice">Smoothing
          <input type="range" min={0} max={0.99} step={0.01} value={smoothing} aria-valuetext={smoothing.toFixed(2)}
            onInput={(e) => setParams({ smooth: Number(e.currentTarget.value) ? e.currentTarget.value : '' })} />
          <span class="num">{smoothing.toFixed(2)}</span>
        </label>
        <span class="grow" />
        {charts.length > 6 && <input type="search" placeholder={`Find among ${plural(charts.length, 'metric')}`} aria-label="find metrics" value={find} onInput={(e) => setFind(e.currentTarget.value)} />}
      </div>
      {many && <p class="hint legendary">{best && trials.includes(best) ? <>The thick line is the best trial, <a href={`/trials/${best}`}>{best}</a>. </> : null}{both && show === 'both' ? 'Dashed lines are training. ' : null}{stopped?.size ? 'Dotted lines were stopped early. ' : null}Point at a line for its trial, click to open it.</p>}
      <div class="charts">
        {shown.map((c) => <Card key={c.name} name={c.name} keys={c.keys} book={data.book} version={data.version} trials={trials} time={time} log={log} smoothing={smoothing} best={best} stopped={stopped} names={names} show={show} />)}
      </div>
    </section>
  );
}

interface CardProps {
  name: string;
  keys: Key[];
  book: Book;
  version: number;
  trials: number[];
  time: boolean;
  log: boolean;
  smoothing: number;
  best: number | undefined;
  stopped: ReadonlySet<number> | undefined;
  names: ReadonlyMap<number, string> | undefined;
  show: Show;
}

// Card holds a chart only while it is near the screen: a hundred charts at once
// would be more than a browser bears.
function Card(p: CardProps) {
  const box = useRef<HTMLElement>(null);
  const [near, setNear] = useState(false);
  const [raw, setRaw] = useState<Book | null>(null);
  useEffect(() => {
    if (!box.current) return;
    const watch = new IntersectionObserver((entries) => setNear(entries[entries.length - 1]!.isIntersecting), { rootMargin: '300px' });
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const keys = useMemo(() => (p.trials.length > 1 ? linesOf(p.keys, p.trials, p.show, p.best, maxLines) : p.keys), [p.keys, p.trials, p.best, p.show]);
  const title = titleOf(keys);
  const zoom = zoomOf(p.name);
  const zoomed = zoom?.join();

  useEffect(() => {
    setRaw(null);
    if (!zoom || !near) return;
    const steps = p.time ? stepsWithin(p.book, keys, zoom) : zoom;
    if (!steps) return;
    const stop = new AbortController();
    const query = { trialIds: [...new Set(keys.map((k) => k.trial))], metricIds: [...new Set(keys.map((k) => `${k.group}.${k.name}`))], startBatches: steps[0], endBatches: steps[1] };
    api.curves(query, stop.signal).then(
      (list) => {
        if (stop.signal.aborted) return;
        const book: Book = new Map();
        for (const c of list) for (const m of c.metrics) load(book, c.trial.id, m.group, m.data);
        setRaw(book);
      },
      (error) => !stop.signal.aborted && complain('Could not load the chosen range', error),
    );
    return () => stop.abort();
  }, [zoomed, near, p.time, p.show]);

  const series = useMemo<Drawn[]>(() => keys.map((k) => {
    const s: Series = (raw ?? p.book).get(keyOf(k)) ?? { x: [], t: [], y: [] };
    const at = p.time ? overTime(s) : { x: s.x, y: s.y };
    const part = partOf(k, keys);
    if (p.trials.length <= 1) return { label: part || k.group, color: k.group === 'validation' ? 2 : k.group === 'training' ? 1 : 3, ...at };
    const strong = k.trial === p.best, early = !!p.stopped?.has(k.trial);
    return {
      label: [p.names?.get(k.trial) ?? `trial ${k.trial}`, part, strong ? 'the best' : early ? 'stopped early' : ''].filter(Boolean).join(', '),
      color: (p.trials.indexOf(k.trial) % colors) + 1, strong, ...(k.group === 'training' && splits(keys) ? { dash: 'long' } : early ? { dash: 'short' } : {}), ...at,
    };
  }), [keys, raw, p.book, p.version, p.time, p.best, p.stopped, p.names]);

  const values = series.flatMap((s) => s.y), gaps = values.filter((y) => y === null).length;
  return (
    <figure ref={box} class="card chart">
      <figcaption>
        <h2>{title}</h2>
        {zoom && <button type="button" class="quiet" onClick={() => setParams({ [`z.${p.name}`]: '' })}>whole range</button>}
      </figcaption>
      {near
        ? <Chart id={p.name} title={title} series={series} time={p.time} log={p.log} smoothing={p.smoothing} height={chartHeight} zoom={zoom}
            {...(p.trials.length > 1 ? { onPick: (i: number) => keys[i] && go(`/trials/${keys[i].trial}`) } : {})}
            onZoom={(r) => setParams({ [`z.${p.name}`]: r ? r.map((v) => (p.time ? v.toFixed(1) : v)).join('~') : '' })} />
        : <div style={{ height: `${chartHeight}px` }} />}
      {gaps > 0 && <p class="hint">{gaps === values.length ? 'All reported values are NaN or infinite.' : `${gaps} of ${plural(values.length, 'value')} ${gaps === 1 ? 'is' : 'are'} NaN or infinite, and not drawn.`}</p>}
    </figure>
  );
}

function zoomOf(name: string): [number, number] | null {
  const [a, b] = (params.value.get(`z.${name}`) ?? '').split('~').map(Number);
  return a !== undefined && b !== undefined && Number.isFinite(a) && Number.isFinite(b) && a < b ? [a, b] : null;
}

// stepsWithin are the steps that were reported between two times.
function stepsWithin(book: Book, keys: Key[], [from, to]: [number, number]): [number, number] | null {
  let min = Infinity, max = -Infinity;
  for (const k of keys) {
    const s = book.get(keyOf(k));
    s?.t.forEach((t, i) => {
      if (t < from || t > to) return;
      min = Math.min(min, s.x[i]!);
      max = Math.max(max, s.x[i]!);
    });
  }
  return min <= max ? [min, max] : null;
}
