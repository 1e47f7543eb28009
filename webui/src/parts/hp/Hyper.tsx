// The hyperparameters of a search: five views of the same trials. Trials that are chosen in one view are marked in all.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { metric as number, plain, plural, roomFor } from '../../lib/format';
import { axesOf, axisOfValues, chosen, fieldOf, kinds, lengthAxis, metricAxis, parseBrush, short, type Axis, type Brush, type Row } from '../../lib/hp';
import { go, params, setParams } from '../../lib/router';
import { early, ladder, type Ladder } from '../../lib/rungs';
import { useSearching } from '../../lib/searching';
import { theme } from '../../lib/theme';
import type { Experiment } from '../../lib/types';
import { Empty, Loading, Menu, Problem, State } from '../bits';
import { sorted, sortOf, Table, type Column } from '../Table';
import { Bundle } from './Bundle';
import { Heat } from './Heat';
import { Importance, useImportance } from './Importance';
import { lookOf, type Look } from './look';
import { axisName, Parallel, without } from './Parallel';
import { Rungs } from './Rungs';
import { Scatter } from './Scatter';

declare global {
  interface Window {
    __brush?: number[]; // milliseconds from a movement of the mouse to what it shows, of the last ones
  }
}
const remembered = 200; // entries of window.__brush
const rest = 120; // milliseconds without a movement, after which the other views follow
const few = 300; // up to so many trials the other views follow at once
const maxAxes = 14; // of parallel coordinates, unless somebody asks for more

export interface NamedMetric {
  group: string;
  name: string;
}

export function Hyper({ e, over, metrics }: { e: Experiment; over: boolean; metrics: NamedMetric[] }) {
  const smaller = e.config.searcher?.smaller_is_better !== false;
  const wanted = params.value.get('hm') ?? '';
  const at = wanted.indexOf('.');
  const group = at > 0 ? wanted.slice(0, at) : 'validation';
  const name = at > 0 ? wanted.slice(at + 1) : e.searcherMetric;
  const data = useSearching(e.id, e.numTrials, group, name, smaller, over);
  const log = params.value.get('log') === '1';
  const by = params.value.get('color') ?? '';

  const searcher = e.config.searcher;
  const steps = useMemo(() => ladder(data.rows, searcher ?? {}, smaller), [data.rows, searcher, smaller]);
  const field = useMemo(() => {
    const found = axesOf(data.rows, kinds(e.config.hyperparameters));
    const all: Axis[] = [...found];
    if (steps) all.push({ name: lengthAxis, kind: 'number', min: Math.min(...data.rows.map((r) => r.batches)), max: Math.max(1, ...data.rows.map((r) => r.batches)), values: [], clipped: false, whole: false });
    all.push(axisOfValues(metricAxis, data.rows.map((r) => r.value), log));
    return fieldOf(data.rows, all, smaller);
  }, [data.rows, steps, log, smaller]);
  const said = params.value.get('brush');
  const [brush, setBrush] = useState<Brush>(() => parseBrush(said));
  useLayoutEffect(() => setBrush(parseBrush(said)), [said]);
  const { mark, count } = useMemo(() => chosen(field, brush), [field, brush]);
  // While the mouse moves, the axes follow at once, and the other views when it rests.
  const [calm, setCalm] = useState({ field, mark, count });
  useEffect(() => {
    if (calm.field === field && calm.mark === mark) return;
    const timer = setTimeout(() => setCalm({ field, mark, count }), calm.field === field && field.rows.length > few ? rest : 0);
    return () => clearTimeout(timer);
  }, [field, mark]);
  const others = calm.field === field ? calm : { field, mark, count };
  const colors = theme.value;
  const look = useMemo(() => lookOf(field, by), [field, by, colors]);
  const [hover, setHover] = useState(-1);
  const important = useImportance(field, smaller);
  const ranked = useMemo(() => important.names.map((n, i) => ({ n, m: important.result?.shares[i]?.mean ?? 0 })).sort((a, b) => b.m - a.m).map((x) => x.n), [important]);

  const shown = useMemo(() => {
    if (ranked.length <= maxAxes) return field;
    const drawn = new Set(ranked.slice(0, maxAxes));
    const keep = field.axes.map((a) => a.name.startsWith(' ') || drawn.has(a.name));
    return { ...field, axes: field.axes.filter((_, i) => keep[i]), at: field.at.filter((_, i) => keep[i]) };
  }, [field, ranked]);

  const begun = useRef(0);
  const onBrush = useCallback((b: Brush, done: boolean) => {
    begun.current ||= performance.now();
    setBrush(b);
    if (done) setParams({ brush: short(b) });
  }, []);
  useEffect(() => {
    if (!begun.current) return;
    const from = begun.current;
    begun.current = 0;
    requestAnimationFrame(() => {
      const list = (window.__brush ??= []);
      list.push(performance.now() - from);
      if (list.length > remembered) list.shift();
    });
  }, [mark]);
  const pick = (i: number) => field.rows[i] && go(`/trials/${field.rows[i].id}`);
  const names = axisName(name);

  if (data.error && !data.rows.length) return <Problem what="Could not load the trials of the search." error={data.error} />;
  if (!data.rows.length) return data.ready ? <Empty title="No trial yet."><p>The search is about to create the first one.</p></Empty> : <Loading lines={5} />;
  const hps = field.axes.filter((a) => !a.name.startsWith(' '));
  const views = { field, look, hover, onHover: setHover, onPick: pick };

  return (
    <section class="hp" aria-label="hyperparameters">
      <div class="tools">
        <label class="choice">Metric <select value={`${group}.${name}`} onChange={(ev) => setParams({ hm: ev.currentTarget.value, brush: '' })}>
          {options(metrics, { group, name }).map((m) => <option key={`${m.group}.${m.name}`} value={`${m.group}.${m.name}`}>{m.group === 'validation' ? m.name : `${m.group}: ${m.name}`}</option>)}
        </select></label>
        <label class="choice">Colour <select value={look.by} onChange={(ev) => setParams({ color: ev.currentTarget.value })}>
          <option value="">by rank</option>
          {hps.map((a) => <option key={a.name} value={a.name}>{a.name}</option>)}
        </select></label>
        <label class="choice"><input type="checkbox" checked={log} onChange={() => setParams({ log: log ? '' : 1 })} /> Log scale</label>
        <Menu label="Ranges" title="choose ranges by typing">{() => <Ranges axes={field.axes} names={names} brush={brush} onBrush={onBrush} />}</Menu>
        <span class="grow" />
        <Key look={look} smaller={smaller} metric={name} />
      </div>
      <p class="lead chosen" role="status">
        {count < data.rows.length
          ? <><b class="num">{count.toLocaleString('en')}</b> of {plural(data.rows.length, 'trial')} chosen {Object.keys(brush).map((k) => {
            const a = field.axes.find((x) => x.name === k);
            return a && <button key={k} type="button" class="chip" onClick={() => onBrush(without(brush, k), true)} aria-label={`take away the choice of ${names(a)}`}>{names(a)} {told(brush[k]!)} ✕</button>;
          })} <button type="button" class="quiet" onClick={() => onBrush({}, true)}>Show all</button></>
          : <>{plural(data.rows.length, 'trial')}{!data.ready && ', more are being loaded'}. Drag along an axis to choose trials; they are marked in every view.</>}
      </p>
      <section class="card" aria-label="parallel coordinates">
        <Parallel {...views} mark={mark} field={shown} brush={brush} count={count} names={names} onBrush={onBrush} />
        {shown !== field && <p class="hint">The {maxAxes} most important of {hps.length} hyperparameters are drawn.</p>}
      </section>
      <div class="hpgrid">
        <section class="card" aria-label="learning curves"><h2>{name}</h2><Bundle {...views} mark={others.mark} count={others.count} metric={name} log={log} rungs={steps?.rungs ?? []} /></section>
        <section class="card" aria-label="importance"><h2>Importance</h2><Importance {...important} ordered={new Set(hps.filter((a) => a.kind !== 'category').map((a) => a.name))} smaller={smaller} metric={name} /></section>
      </div>
      {steps && steps.rungs.length > 1 && <section class="card" aria-label="rungs"><h2>Rungs</h2><Rungs ladder={steps} metric={name} brush={brush} onBrush={onBrush} /></section>}
      {hps.length > 0 && <section class="card" aria-label="scatter charts"><h2>Each hyperparameter</h2><Scatter {...views} mark={others.mark} brush={brush} onBrush={onBrush} /></section>}
      {hps.length > 1 && <section class="card" aria-label="heat map"><h2>Two hyperparameters</h2><Heat field={field} look={look} mark={others.mark} brush={brush} metric={name} first={ranked} onBrush={onBrush} /></section>}
      <Chosen rows={data.rows} mark={others.mark} axes={hps} metric={name} smaller={smaller} ladder={steps} best={field.best >= 0 ? field.rows[field.best]!.id : 0} />
    </section>
  );
}

function options(list: NamedMetric[], now: NamedMetric): NamedMetric[] {
  return list.some((m) => m.group === now.group && m.name === now.name) ? list : [now, ...list];
}

function told(b: Brush[string]): string {
  return typeof b[0] === 'number' ? `${number(Number((b[0] as number).toPrecision(3)))} … ${number(Number((b[1] as number).toPrecision(3)))}` : b.length ? (b as string[]).slice(0, 3).join(', ') + (b.length > 3 ? '…' : '') : 'nothing';
}

function Key({ look, smaller, metric }: { look: Look; smaller: boolean; metric: string }) {
  if (look.keys.length) return <span class="key">{look.keys.map((k) => <span key={k.label} class="cut"><i style={{ background: k.color }} />{k.label}</span>)}</span>;
  const [a, b] = look.axis ? (look.axis.kind === 'category' ? [look.axis.values[0], look.axis.values[look.axis.values.length - 1]] : [number(look.axis.min), number(look.axis.max)]) : [`worst ${metric}`, `best (${smaller ? 'smallest' : 'largest'})`];
  return <span class="key"><span>{a}</span><i class="band" style={{ background: `linear-gradient(to right, ${look.colors.join(', ')})` }} /><span>{b}</span></span>;
}

// Ranges lets the same choices be typed, for those who use no mouse.
function Ranges({ axes, names, brush, onBrush }: { axes: Axis[]; names: (a: Axis) => string; brush: Brush; onBrush: (b: Brush, done: boolean) => void }) {
  return (
    <div class="ranges">
      {axes.map((a) => {
        const now = brush[a.name];
        if (a.kind === 'category') {
          return (
            <fieldset key={a.name}><legend>{names(a)}</legend>
              {a.values.map((v) => {
                const on = !now || (now as string[]).includes(v);
                const next = () => {
                  const list = a.values.filter((x) => (x === v ? !on : !now || (now as string[]).includes(x)));
                  onBrush(list.length === a.values.length ? without(brush, a.name) : { ...brush, [a.name]: list }, true);
                };
                return <label key={v} class="choice"><input type="checkbox" checked={on} onChange={next} /> <span class="cut">{v}</span></label>;
              })}
            </fieldset>
          );
        }
        const [low, high] = (now as [number, number] | undefined) ?? [a.min, a.max];
        const set = (i: 0 | 1) => (ev: Event) => {
          const v = Number((ev.currentTarget as HTMLInputElement).value);
          if (Number.isFinite(v)) onBrush({ ...brush, [a.name]: i ? [low, v] : [v, high] }, true);
        };
        return (
          <fieldset key={a.name}><legend>{names(a)}</legend>
            <span class="row"><input type="number" step="any" aria-label={`${names(a)}, from`} defaultValue={Number(low.toPrecision(5))} onChange={set(0)} /> to <input type="number" step="any" aria-label={`${names(a)}, to`} defaultValue={Number(high.toPrecision(5))} onChange={set(1)} /></span>
          </fieldset>
        );
      })}
    </div>
  );
}

function Chosen({ rows, mark, axes, metric, smaller, ladder: l, best }: { rows: Row[]; mark: Uint8Array; axes: Axis[]; metric: string; smaller: boolean; ladder: Ladder | null; best: number }) {
  const sort = sortOf({ key: 'value', desc: !smaller });
  const columns: Column<Row>[] = [
    { key: 'id', title: 'Trial', width: '5rem', right: true, narrow: true, sort: (r) => r.id, render: (r) => <a class="num" href={`/trials/${r.id}`}>{r.id}</a> },
    { key: 'state', title: 'State', width: '8.5rem', narrow: true, sort: (r) => r.state, render: (r) => (early(r, l) ? <span class="state off" title="the search stopped it early">stopped early</span> : <State state={r.state} />) },
    { key: 'value', title: `Best ${metric}`, width: roomFor(`Best ${metric}`, 9), right: true, narrow: true, sort: (r) => r.value ?? NaN, render: (r) => <span class="cut num">{r.id === best && <span class="tag best">best</span>}{number(r.value)}</span> },
    { key: 'batches', title: 'Batches', width: '6rem', right: true, sort: (r) => r.batches, render: (r) => <span class="num">{r.batches.toLocaleString('en')}</span> },
    ...axes.map((a): Column<Row> => ({
      key: `hp.${a.name}`, title: a.name, width: roomFor(a.name, 6), right: true, sort: (r) => { const v = r.hp.get(a.name); return typeof v === 'number' ? v : plain(v ?? ''); },
      render: (r) => { const v = r.hp.get(a.name); return <code class="cut" title={v === undefined ? '' : plain(v)}>{typeof v === 'number' ? number(v) : v === undefined ? '–' : plain(v)}</code>; },
    })),
  ];
  const list = useMemo(() => sorted(rows.filter((_, i) => mark[i]), columns, sort), [rows, mark, sort.key, sort.desc]);
  return <Table<Row> label="chosen trials" columns={columns} count={list.length} row={(i) => list[i]} id={(r) => String(r.id)} open={(r) => go(`/trials/${r.id}`)} sort={sort} fit marked={(r) => r.id === best} empty={<Empty title="No trial is within these ranges." />} />;
}
