// An experiment: its state, curves, trials, checkpoints, configuration and log.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { actions, perform, type Action } from '../lib/actions';
import { api, ApiError } from '../lib/api';
import { useCurves } from '../lib/curves';
import { ago, bytes, clock, duration, flat, metric, plain, plural, roomFor, space } from '../lib/format';
import { follow, often } from '../lib/live';
import { useLoad, useNow } from '../lib/load';
import { logOfTrial } from '../lib/logs';
import { go, params, setParams } from '../lib/router';
import { groupOf } from '../lib/series';
import { early, ladder, type Ladder } from '../lib/rungs';
import { bare, ended } from '../lib/states';
import type { Experiment, ExperimentBranch, Trial } from '../lib/types';
import { spent, waits } from '../lib/waiting';
import { Checkpoints, best } from '../parts/Checkpoints';
import { Config } from '../parts/Config';
import { Began, Confirm, Copy, Empty, Fact, Loading, Problem, Progress, State, Tabs, type Question } from '../parts/bits';
import { Curves, maxLines } from '../parts/Curves';
import { lazy } from '../lib/lazy';
import { LogView } from '../parts/LogView';
import { Notice } from '../parts/Notice';
import { Values } from '../parts/Values';
import { useTitle } from '../parts/Shell';
import { sorted, sortOf, Table, type Column } from '../parts/Table';

const Timeline = lazy(() => import('../parts/Timeline').then((m) => m.Timeline));
const Code = lazy(() => import('../parts/Code').then((m) => m.Code));
const Markdown = lazy(() => import('../parts/Markdown').then((m) => m.Markdown));
const Hyper = lazy(() => import('../parts/hp/Hyper').then((m) => m.Hyper));
const Repeats = lazy(() => import('../parts/Repeats').then((m) => m.Repeats));
const Front = lazy(() => import('../parts/Front').then((m) => m.Front));
const More = lazy(() => import('../parts/More').then((m) => m.More), true);

const maxCurves = 20; // trials whose curves are drawn if the user chose none
const mostCompared = 20; // side by side
const maxTrials = 1000; // that are read as a list; Hyperparameters reads all

export function ExperimentPage({ params: { id: text, tab = 'overview' } }: { params: Record<string, string> }) {
  const id = Number(text);
  const experiment = useLoad((signal) => api.experiment(id, signal), [id]);
  const trials = useLoad(async (signal) => (await api.trials(id, { limit: maxTrials }, signal)).trials, [id]);
  const checkpoints = useLoad(async (signal) => (await api.checkpoints(id, signal)).checkpoints, [id]);
  const e = experiment.data?.experiment;
  const all = trials.data ?? [];
  const smaller = e?.config.searcher?.smaller_is_better !== false;
  const many = (e?.numTrials ?? 0) > maxTrials; // then the best can be among those that are not read
  const top = useLoad(async (signal) => (many ? (await api.trials(id, { limit: maxCurves, sortBy: 'SORT_BY_BEST_VALIDATION_METRIC', orderBy: smaller ? 'ORDER_BY_ASC' : 'ORDER_BY_DESC' }, signal)).trials : []), [id, many, smaller]);
  const from = many ? top : trials;
  const chosen = params.value.get('trials');
  const drawn = useMemo(() => {
    const wanted = (chosen ?? '').split(',').map(Number).filter(Boolean);
    if (wanted.length) return wanted.slice(0, maxLines);
    const value = (t: Trial) => (typeof t.searcherMetricValue !== 'number' ? Infinity : smaller ? t.searcherMetricValue : -t.searcherMetricValue);
    return (from.data ?? []).slice().sort((a, b) => value(a) - value(b) || a.id - b.id).slice(0, maxCurves).map((t) => t.id).sort((a, b) => a - b);
  }, [chosen, (from.data ?? []).map((t) => t.id).join(), smaller]);
  const curves = useCurves(drawn);
  const rungs = useMemo(() => ladder(all.map(stand), e?.config.searcher ?? {}, smaller), [all, e?.config.searcher, smaller]);
  const stopped = useMemo(() => new Set(all.filter((t) => early(stand(t), rungs)).map((t) => t.id)), [all, rungs]);
  const [question, setQuestion] = useState<Question | null>(null);
  useTitle(e ? `${e.id} ${e.name}` : `Experiment ${id}`);

  useEffect(() => {
    const look = often(() => {
      experiment.reload();
      trials.reload();
      top.reload();
      checkpoints.reload();
    }, 1000);
    let ready = false;
    return follow({
      trials: drawn,
      onReady: () => {
        if (ready) look();
        ready = true;
        curves.reload();
      },
      onMetrics: curves.report,
      onExperiment: (m) => {
        if (m.id !== id) return;
        experiment.change((d) => ({ ...d, experiment: { ...d.experiment, ...m } }));
        look();
      },
      onLook: (l) => {
        if (l.what.includes('experiments') || l.gone.includes(id)) look();
      },
    });
  }, [id, drawn.join()]);

  if (!e) {
    if (experiment.error instanceof ApiError && experiment.error.status === 404) {
      return <Empty alone title={`There is no experiment ${text}.`}><p>The experiment may have been deleted. <a href="/experiments">All experiments</a></p></Empty>;
    }
    return experiment.error ? <Problem alone what={`Could not load experiment ${text}.`} error={experiment.error} retry={experiment.reload} /> : <Loading />;
  }
  const over = ended(e.state);
  const total = Math.max(all.length, e.numTrials);
  const one = all.length === 1 && e.searcherType === 'single' ? all[0] : undefined;
  const run = (a: Action) => {
    const act = async () => {
      await perform(a, [e]);
      if (a.verb === 'delete') go('/experiments');
      else experiment.reload();
    };
    if (a.ask) setQuestion({ title: `${a.title} experiment ${e.id}?`, text: a.ask, yes: a.title, danger: !!a.danger, act });
    else void act();
  };
  const tabs = [
    { key: 'overview', title: 'Overview' },
    { key: 'trials', title: 'Trials', count: total },
    ...(e.searcherType === 'single' && all.length <= 1 ? [] : [{ key: 'hyperparameters', title: 'Hyperparameters' }]),
    { key: 'checkpoints', title: 'Checkpoints', count: e.checkpointCount },
    { key: 'timeline', title: 'Timeline' },
    { key: 'configuration', title: 'Configuration' },
    { key: 'code', title: 'Code' },
    { key: 'logs', title: 'Logs' },
  ];
  const holds = !over && !bare(e.state).startsWith('STOPPING'); // its error is only why it waits
  const failed = one ?? all.find((t) => bare(t.state) === 'ERROR');
  const waiting = one && !over ? one.waitingReason : all.find((t) => t.waitingReason)?.waitingReason;

  return (
    <div class={`page${tab === 'logs' ? ' full' : ''}`}>
      <p class="crumbs"><a href="/experiments">Experiments</a> <span aria-hidden="true">/</span> {e.workspaceName} <span aria-hidden="true">/</span> <a href={`/projects/${e.projectId}`}>{e.projectName}</a></p>
      <div class="head">
        <h1><span class="faint num">{e.id}</span> {e.name}</h1>
        <State state={e.state} />
        {e.archived && <span class="tag">archived</span>}
        {!over && e.progress !== null && <Progress value={e.progress} />}
        <span class="grow" />
        <div class="row" role="toolbar" aria-label="actions">
          {actions.filter((a) => a.fits(e)).map((a) => <button key={a.verb} type="button" class={a.danger ? 'danger' : ''} onClick={() => run(a)}>{a.title}</button>)}
          <More e={e} reload={experiment.reload} />
        </div>
      </div>
      {e.description && <p class="lead">{e.description}</p>}
      {e.error && holds && <Notice kind="wait" title="The experiment waits" text={e.error} />}
      {e.error && !holds && <Notice kind="bad" title="Ended with an error" text={(one && one.error) || e.error} log={tab === 'logs' || !failed ? undefined : logOfTrial(failed.id)}>{tab !== 'logs' && <a class="button" href={`/experiments/${e.id}/logs`}>See the log</a>}</Notice>}
      {experiment.data?.outlook?.says?.map((s) => <p key={s} class="lead">{s}.</p>)}
      {experiment.data?.remarks?.map((r) => <Notice key={r} kind="wait" title="The search has no result" text={r} />)}
      {!e.error && waiting && bare(e.state) !== 'PAUSED' && <Notice kind="wait" title={e.numTrials > 1 ? 'Trials wait' : 'The trial waits'} text={waiting} />}
      <Tabs items={tabs} at={tab} href={(t) => `/experiments/${e.id}${t === 'overview' ? '' : `/${t}`}`} />
      {tab === 'overview' && (
        <div class="split">
          <div>
            {drawn.length < total && drawn.length > 0 && <p class="lead">The {chosen ? 'chosen' : 'best'} {drawn.length} of {plural(total, 'trial')}; <a href={`/experiments/${e.id}/trials`}>choose others</a>.</p>}
            {drawn.length === 0 ? (from.error ? <Problem what="Could not load the trials." error={from.error} retry={from.reload} /> : from.data ? <Empty title="No trial yet."><p>The search is about to create the first one.</p></Empty> : <Loading lines={5} />)
              : <Curves data={curves} trials={drawn} metric={e.searcherMetric} over={over} best={e.bestTrialId ?? undefined} stopped={stopped} />}
            {!!experiment.data?.outlook?.front?.points.length && <Front front={experiment.data.outlook.front} wanted={e.config.searcher?.metrics ?? []} trials={all} />}
            {!!experiment.data?.outlook?.repeats?.configurations.length && <Repeats repeats={experiment.data.outlook.repeats} metric={e.searcherMetric} />}
          </div>
          <Facts e={e} branches={experiment.data?.branches ?? []} trial={one} checkpoint={checkpoints.data && !experiment.data?.outlook?.front ? best(experiment.data?.outlook?.repeats?.decided ? checkpoints.data.filter((c) => c.training.trialId === e.bestTrialId) : checkpoints.data, smaller)?.uuid : undefined} />
        </div>
      )}
      {tab === 'trials' && (trials.error ? <Problem what="Could not load the trials." error={trials.error} retry={trials.reload} /> : <Trials e={e} list={all} ready={!!trials.data} rungs={rungs} />)}
      {tab === 'hyperparameters' && <Hyper e={e} over={over} metrics={metricsOf(all)} />}
      {tab === 'checkpoints' && (checkpoints.error ? <Problem what="Could not load the checkpoints." error={checkpoints.error} retry={checkpoints.reload} />
        : checkpoints.data ? <Checkpoints list={checkpoints.data} metricName={e.searcherMetric} smaller={smaller} trials={all.length > 1} over={over} /> : <Loading />)}
      {tab === 'timeline' && <Timeline experiment={e.id} changed={`${e.state}${e.numTrials}`} unmanaged={e.unmanaged} over={over} />}
      {tab === 'code' && <Code experiment={e.id} />}
      {tab === 'configuration' && <Config original={e.originalConfig} complete={e.config} />}
      {tab === 'logs' && <Logs e={e} trials={all} ready={!!trials.data} over={over} />}
      <Confirm question={question} close={() => setQuestion(null)} />
    </div>
  );
}

// stand returns the fields of a trial that a search's rungs need.
const stand = (t: Trial) => ({ state: bare(t.state), over: ended(t.state), batches: t.totalBatchesProcessed, value: typeof t.searcherMetricValue === 'number' ? t.searcherMetricValue : null });

// metricsOf returns the names of metrics that trials have reported, validation metrics first.
function metricsOf(trials: Trial[]): { group: string; name: string }[] {
  const seen = new Map<string, { group: string; name: string }>();
  for (const t of trials) {
    for (const [raw, names] of Object.entries(t.summaryMetrics ?? {})) {
      const group = groupOf(raw);
      for (const [name, s] of Object.entries((names ?? {}) as Record<string, { type?: string }>)) if (s?.type === 'number') seen.set(`${group}.${name}`, { group, name });
    }
  }
  const rank = (g: string) => (g === 'validation' ? 0 : g === 'training' ? 1 : 2);
  return [...seen.values()].sort((a, b) => rank(a.group) - rank(b.group) || a.group.localeCompare(b.group) || a.name.localeCompare(b.name));
}

function Facts({ e, branches, trial, checkpoint }: { e: Experiment; branches: ExperimentBranch[]; trial: Trial | undefined; checkpoint: string | undefined }) {
  const now = useNow();
  const over = ended(e.state), time = spent(e, now);
  const hp = (trial ? flat(trial.hparams).map(([k, v]): [string, string] => [k, plain(v)]) : space(e.config.hyperparameters ?? {})).sort(([a], [b]) => a.localeCompare(b));
  return (
    <aside class="facts">
      <section class="card" aria-label="facts">
        <dl>
          <Fact name={`Best ${e.searcherMetric || 'metric'}`}><span class="num big">{metric(e.bestTrialSearcherMetric)}</span></Fact>
          <Fact name="Owner">{e.displayName || e.username}</Fact>
          <Fact name={waits(e.state) ? 'Submitted' : 'Started'}><time dateTime={e.startTime} title={clock(e.startTime)}>{ago(e.startTime, now)}</time></Fact>
          <Fact name={time.name}><span class="num">{time.text}</span></Fact>
          <Fact name="Pool">{e.resourcePool}, {e.config.resources?.slots_per_trial ?? 1} {e.config.resources?.slots_per_trial === 1 ? 'slot' : 'slots'} a trial</Fact>
          {over && !e.state.endsWith('COMPLETED') && e.progress !== null && <Fact name="Reached"><Progress value={e.progress} /></Fact>}
          {trial && <Fact name="Batches"><span class="num">{trial.totalBatchesProcessed.toLocaleString('en')}</span></Fact>}
          {trial && trial.restarts > 0 && <Fact name="Restarts"><span class="num">{trial.restarts}</span></Fact>}
          {trial?.logPolicyMatched && <Fact name="Log policy"><span class="tag">{trial.logPolicyMatched}</span></Fact>}
          {trial?.runnerState && !over && <Fact name="Doing">{trial.runnerState}</Fact>}
          <Fact name="Checkpoints"><span class="num">{e.checkpointCount}</span>, {bytes(e.checkpointSize)}</Fact>
          {checkpoint && <Fact name="Best checkpoint"><code title={checkpoint}>{checkpoint.slice(0, 8)}</code> <Copy text={checkpoint} what="checkpoint's id" /></Fact>}
          {e.forkedFrom !== null && <Fact name={e.branchEvent === null ? 'Forked from' : 'Branched from'}><a href={`/experiments/${e.forkedFrom}`}>{e.forkedFrom}</a>{e.branchEvent !== null && `, at event ${e.branchEvent}`}</Fact>}
          {branches.length > 0 && <Fact name="Branches">{branches.map((b, i) => <span key={b.id}>{i > 0 && ', '}<a href={`/experiments/${b.id}`} title={`at event ${b.event}`}>{b.id}</a></span>)}</Fact>}
          {e.labels.length > 0 && <Fact name="Labels">{e.labels.map((l) => <span key={l} class="tag">{l}</span>)}</Fact>}
        </dl>
      </section>
      {trial && <Values of={trial} />}
      <section class="card" aria-label="hyperparameters">
        <h2>Hyperparameters</h2>
        {hp.length ? <dl class="mono">{hp.map(([k, v]) => <Fact key={k} name={k}><span title={v}>{v}</span></Fact>)}</dl> : <p class="faint">None.</p>}
      </section>
      {e.notes && <section class="card" aria-label="notes"><h2>Notes</h2><Markdown text={e.notes} /></section>}
    </aside>
  );
}

// Trials shows the hyperparameters that differ between trials; the others are in the configuration.
function Trials({ e, list, ready, rungs }: { e: Experiment; list: Trial[]; ready: boolean; rungs: Ladder | null }) {
  const now = useNow();
  const sort = sortOf({ key: 'id', desc: false });
  const chosen = params.value.get('trials') ?? '';
  const selected = useMemo(() => new Set(chosen.split(',').filter(Boolean)), [chosen]);
  const varying = useMemo(() => {
    const seen = new Map<string, Set<string>>();
    for (const t of list) for (const [k, v] of flat(t.hparams)) seen.set(k, (seen.get(k) ?? new Set()).add(plain(v)));
    const differ = [...seen].filter(([, values]) => values.size > 1).map(([k]) => k);
    return differ;
  }, [list]);
  const value = (t: Trial, name: string): unknown => flat(t.hparams).find(([k]) => k === name)?.[1];
  const columns: Column<Trial>[] = [
    { key: 'id', title: 'Trial', width: '4.25rem', right: true, narrow: true, sort: (t) => t.id, render: (t) => <a class="num" href={`/trials/${t.id}`}>{t.id}</a> },
    { key: 'state', title: 'State', width: '8.5rem', narrow: true, sort: (t) => t.state, render: (t) => (early(stand(t), rungs) ? <span class="state off" title="the search stopped it at a rung, before its whole length">stopped early</span> : <State state={t.state} />) },
    { key: 'metric', title: `Best ${e.searcherMetric}`, width: roomFor(`Best ${e.searcherMetric}`, 9), right: true, narrow: true, sort: (t) => t.searcherMetricValue ?? NaN, render: (t) => <span class="cut num">{t.id === e.bestTrialId && <span class="tag best">best</span>}{metric(t.searcherMetricValue)}</span> },
    { key: 'batches', title: 'Batches', width: '5.5rem', right: true, sort: (t) => t.totalBatchesProcessed, render: (t) => <span class="num">{t.totalBatchesProcessed.toLocaleString('en')}</span> },
    ...varying.map((name): Column<Trial> => ({
      key: `hp.${name}`, title: name, width: roomFor(name, 5.5), right: true,
      sort: (t) => { const v = value(t, name); return typeof v === 'number' ? v : plain(v); }, render: (t) => { const v = value(t, name); return <code class="cut" title={plain(v)}>{typeof v === 'number' ? metric(v) : plain(v)}</code>; },
    })),
    { key: 'restarts', title: 'Restarts', width: '5.25rem', right: true, sort: (t) => t.restarts, render: (t) => <span class="num">{t.restarts}</span> },
    { key: 'checkpoints', title: 'Checkpoints', width: '7rem', right: true, hidden: true, sort: (t) => t.checkpointCount, render: (t) => <span class="num">{t.checkpointCount}</span> },
    { key: 'started', title: 'Started', width: '6rem', sort: (t) => t.startTime, render: (t) => <Began of={t} now={now} /> },
    { key: 'took', title: 'Ran', width: '5rem', right: true, sort: (t) => t.wallClockTime ?? 0, render: (t) => <span class="num">{duration(t.wallClockTime)}</span> },
    { key: 'why', title: 'Why', width: 'minmax(8rem, 2fr)', hidden: !list.some((t) => t.error || t.waitingReason), render: (t) => <span class="cut faint" title={t.error || t.waitingReason}>{t.error || t.waitingReason}</span> },
  ];
  const rows = useMemo(() => sorted(list, columns, sort), [list, sort.key, sort.desc]);
  if (!ready) return <Loading />;
  return <>
    {e.numTrials > list.length && <p class="lead">The first {list.length.toLocaleString('en')} of {plural(e.numTrials, 'trial')}; all of them are under <a href={`/experiments/${e.id}/hyperparameters`}>Hyperparameters</a>.</p>}
    <Table<Trial> label="trials" columns={columns} count={rows.length} row={(i) => rows[i]} id={(t) => String(t.id)} open={(t) => go(`/trials/${t.id}`)} sort={sort} fit
      marked={(t) => t.id === e.bestTrialId} selected={selected} onSelect={(ids) => setParams({ trials: [...ids].join(',') })}
      tools={selected.size > 0 && <>{selected.size <= maxLines ? <a class="button" href={`/experiments/${e.id}?trials=${[...selected].join(',')}`}>Compare the curves of {selected.size}</a> : <span class="faint small">{selected.size} trials are selected; at most {maxLines} curves are drawn at once.</span>}{selected.size <= mostCompared && <a class="button" href={`/compare?trials=${[...selected].join(',')}`}>Side by side</a>}</>}
      empty={<Empty title="No trial yet." />} />
  </>;
}

function Logs({ e, trials, ready, over }: { e: Experiment; trials: Trial[]; ready: boolean; over: boolean }) {
  const wanted = Number(params.value.get('trial')) || trials[0]?.id;
  const trial = trials.find((t) => t.id === wanted);
  if (!trial) return ready ? <Empty title="No log yet: the experiment has no trial." /> : <Loading />;
  return (
    <>
      {trials.length > 1 && (
        <div class="tools">
          <label class="choice">Trial <select value={trial.id} onChange={(ev) => setParams({ trial: ev.currentTarget.value })}>{trials.map((t) => <option key={t.id} value={t.id}>{t.id}</option>)}</select></label>
        </div>
      )}
      <LogView log={logOfTrial(trial.id)} over={over} name={`the log of experiment ${e.id}`} />
    </>
  );
}
