// Trials of any experiments side by side: curves, metrics, configuration, code, and what their nodes measured.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { api, ApiError } from '../lib/api';
import { useCurves } from '../lib/curves';
import { metric as number, plural } from '../lib/format';
import { lazy } from '../lib/lazy';
import { labelsOf } from '../lib/lines';
import { follow } from '../lib/live';
import { useLoad } from '../lib/load';
import { link, params, setParams } from '../lib/router';
import { ended } from '../lib/states';
import { differing, metricsOf, type Compared, type Measure } from '../lib/compare';
import { Empty, Loading, Problem, State, Tabs } from '../parts/bits';
import { Curves } from '../parts/Curves';
import { useTitle } from '../parts/Shell';

const CodeDiff = lazy(() => import('../parts/CodeDiff').then((m) => m.CodeDiff));
const SystemOf = lazy(() => import('../parts/Profile').then((m) => m.Systems));

const most = 20; // trials side by side
const colors = 8;
const measures: Measure[] = ['last', 'min', 'max', 'mean'];

const ids = (name: string): number[] => (params.value.get(name) ?? '').split(',').map(Number).filter((n) => Number.isInteger(n) && n > 0);

export function Compare() {
  useTitle('Compare');
  const trials = ids('trials').slice(0, most), experiments = ids('experiments').slice(0, most);
  const wanted = useLoad(async (signal): Promise<{ list: Compared[]; missing: string[] }> => {
    const missing: string[] = [];
    const known = new Map<number, Awaited<ReturnType<typeof api.experiment>>>();
    const absent = (what: string) => (error: unknown) => {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      missing.push(what);
      return null;
    };
    // An experiment stands for its best trial, or its first one.
    const chosen = [...trials];
    for (const id of experiments) {
      const e = await api.experiment(id, signal).catch(absent(`experiment ${id}`));
      if (!e) continue;
      known.set(id, e);
      const trial = e.experiment.bestTrialId ?? (await api.trials(id, { limit: 1 }, signal)).trials[0]?.id;
      if (trial && !chosen.includes(trial)) chosen.push(trial);
    }
    const list: Compared[] = [];
    for (const id of chosen.slice(0, most)) {
      const trial = await api.trial(id, signal).catch(absent(`trial ${id}`));
      if (!trial) continue;
      const e = known.get(trial.experimentId) ?? (await api.experiment(trial.experimentId, signal));
      known.set(trial.experimentId, e);
      list.push({ trial, experiment: e.experiment });
    }
    return { list, missing };
  }, [trials.join(), experiments.join()]);
  const list = wanted.data?.list ?? [];
  const shown = useMemo(() => list.map((c) => c.trial.id), [list.map((c) => c.trial.id).join()]);
  const names = useMemo(() => labelsOf(list), [list]);
  const curves = useCurves(shown);
  useEffect(() => {
    if (!shown.length) return;
    return follow({ trials: shown, onReady: curves.reload, onMetrics: curves.report, onExperiment: (m) => list.some((c) => c.experiment.id === m.id && !ended(c.trial.state)) && wanted.reload() });
  }, [shown.join()]);

  const view = params.value.get('view') ?? 'curves';
  const baseline = list.find((c) => c.trial.id === Number(params.value.get('base'))) ?? list[0];
  const set = (next: number[]) => setParams({ trials: next.join(','), experiments: '' });
  const href = (v: string) => link('/compare', { trials: params.value.get('trials'), experiments: params.value.get('experiments'), base: params.value.get('base'), view: v === 'curves' ? '' : v });

  return (
    <div class="page">
      <div class="head"><h1>Compare</h1>{list.length > 0 && <span class="faint num">{plural(list.length, 'trial')}</span>}</div>
      {wanted.error !== undefined && <Problem what="Could not load the trials." error={wanted.error} retry={wanted.reload} />}
      {(wanted.data?.missing.length ?? 0) > 0 && <p class="weak">There is no {wanted.data!.missing.join(', no ')}, or you may not see it.</p>}
      <ul class="sides" aria-label="what is compared">
        {list.map((c, i) => (
          <li key={c.trial.id} class={c === baseline ? 'on' : ''}>
            <i style={{ background: `var(--curve-${(i % colors) + 1})` }} />
            <span class="what"><a class="cut" href={`/experiments/${c.experiment.id}`} title={c.experiment.name}>{c.experiment.id} {c.experiment.name}</a> <State state={c.trial.state} /><a class="cut faint small" href={`/trials/${c.trial.id}`}>Trial {c.trial.id}</a></span>
            <button type="button" class="quiet" aria-pressed={c === baseline} onClick={() => setParams({ base: c.trial.id })}>{c === baseline ? 'baseline' : 'as baseline'}</button>
            <button type="button" class="quiet" aria-label={`take trial ${c.trial.id} away`} onClick={() => set(shown.filter((id) => id !== c.trial.id))}>✕</button>
          </li>
        ))}
        {list.length < most && <li class="add"><Add have={shown} /></li>}
      </ul>
      {!wanted.data ? wanted.error === undefined && <Loading lines={5} /> : list.length === 0 || !baseline ? (
        <Empty title="Nothing to compare yet."><p>Add trials or experiments by their numbers, or select some in a list of <a href="/experiments">experiments</a> or of a search's trials.</p></Empty>
      ) : (
        <>
          <Tabs at={view} href={href} items={[{ key: 'curves', title: 'Curves' }, { key: 'metrics', title: 'Metrics' }, { key: 'configuration', title: 'Configuration' }, { key: 'code', title: 'Code' }, { key: 'system', title: 'System' }]} />
          {view === 'curves' && <Curves data={curves} trials={shown} metric={baseline.experiment.searcherMetric} over={list.every((c) => ended(c.trial.state))} names={names} />}
          {view === 'metrics' && <Metrics list={list} names={names} baseline={baseline} />}
          {view === 'configuration' && <Configuration list={list} names={names} baseline={baseline} />}
          {view === 'code' && <CodeDiff list={list} baseline={baseline} />}
          {view === 'system' && <SystemOf list={list} names={names} book={curves.book} version={curves.version} />}
        </>
      )}
    </div>
  );
}

function Add({ have }: { have: number[] }) {
  const [text, setText] = useState('');
  const add = (e: Event) => {
    e.preventDefault();
    const found = text.match(/^\s*(trials?|experiments?|e|t)?\s*#?(\d+)\s*$/i);
    if (!found) return;
    const kind = /^e/i.test(found[1] ?? '') ? 'experiments' : 'trials';
    setText('');
    setParams({ trials: (kind === 'trials' ? [...new Set([...have, Number(found[2])])] : have).join(','), experiments: kind === 'experiments' ? found[2] : '' });
  };
  return (
    <form class="row" onSubmit={add}>
      <input class="adds" aria-label="add a trial or an experiment" placeholder="trial 12, experiment 3" value={text} onInput={(e) => setText(e.currentTarget.value)} autocomplete="off" />
      <button type="submit" disabled={!/\d/.test(text)}>Add</button>
    </form>
  );
}

interface Sides {
  list: Compared[];
  names: ReadonlyMap<number, string>;
  baseline: Compared;
}

function Heads({ list, names, baseline, first }: Sides & { first: string }) {
  return (
    <thead><tr>
      <th scope="col">{first}</th>
      {list.map((c, i) => <th key={c.trial.id} scope="col" class="right"><span class="series"><i class="dot" style={{ background: `var(--curve-${(i % colors) + 1})` }} /><span class="cut" title={names.get(c.trial.id)}>{names.get(c.trial.id)}</span></span>{c === baseline && <span class="tag">baseline</span>}</th>)}
    </tr></thead>
  );
}

function Metrics({ list, names, baseline }: Sides) {
  const said = params.value.get('of') as Measure;
  const of = measures.includes(said) ? said : 'last';
  const rows = useMemo(() => metricsOf(list, of), [list, of]);
  const at = list.indexOf(baseline);
  const searched = `validation ${baseline.experiment.searcherMetric}`;
  const smaller = baseline.experiment.config.searcher?.smaller_is_better !== false;
  if (rows.length === 0) return <Empty title="No metrics were reported." />;
  return (
    <>
      <div class="tools">
        <span class="choices" role="group" aria-label="which value">
          {measures.map((m) => <button key={m} type="button" class={m === of ? 'on' : ''} aria-pressed={m === of} onClick={() => setParams({ of: m === 'last' ? '' : m })}>{m === 'min' ? 'smallest' : m === 'max' ? 'largest' : m}</button>)}
        </span>
        <span class="faint small">Below each value, the difference to the baseline.</span>
      </div>
      <div class="card scroll" tabIndex={0} role="group" aria-label="metrics">
        <table class="plain sticky">
          <Heads list={list} names={names} baseline={baseline} first="Metric" />
          <tbody>
            {rows.map((r) => (
              <tr key={r.name} class={r.name === searched ? 'marked' : ''}>
                <th scope="row">{r.name}</th>
                {r.values.map((v, i) => {
                  const base = r.values[at];
                  const by = typeof v === 'number' && typeof base === 'number' && i !== at ? v - base : null;
                  const good = by === null || by === 0 || r.name !== searched ? '' : (by < 0) === smaller ? ' better' : ' worse';
                  return <td key={i} class="right num">{number(v)}{by !== null && <span class={`by${good}`}>{by === 0 ? '±0' : `${by > 0 ? '+' : '−'}${number(Math.abs(Number(by.toPrecision(3))))}${base ? ` (${by > 0 ? '+' : '−'}${Math.abs((100 * by) / (base as number)).toFixed(1)}%)` : ''}`}</span>}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Configuration({ list, names, baseline }: Sides) {
  const all = params.value.get('same') === '1';
  const rows = useMemo(() => differing(list, all), [list, all]);
  const at = list.indexOf(baseline);
  return (
    <>
      <div class="tools"><label class="choice"><input type="checkbox" checked={all} onChange={() => setParams({ same: all ? '' : 1 })} /> also what is the same</label></div>
      {rows.length === 0 ? <Empty title={list.length < 2 ? 'Only one trial is compared.' : 'The configurations are the same.'} /> : (
        <div class="card scroll" tabIndex={0} role="group" aria-label="configuration">
          <table class="plain sticky">
            <Heads list={list} names={names} baseline={baseline} first="Field" />
            <tbody>
              {rows.map((r) => (
                <tr key={r.name}>
                  <th scope="row"><code>{r.name}</code></th>
                  {r.values.map((v, i) => <td key={i} class={`right${i !== at && v !== r.values[at] ? ' other' : ''}`}><code class="cut" title={v ?? 'not set'}>{v ?? '–'}</code></td>)}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

