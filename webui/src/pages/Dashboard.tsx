// The first page: running work, waiting work with the reasons, and failures since the last visit.
import { useEffect, useState } from 'preact/hooks';
import { api, taskKinds } from '../lib/api';
import { ago, clock, metric, plural } from '../lib/format';
import { follow, often } from '../lib/live';
import { hidden } from '../lib/queue';
import { useLoad, useNow } from '../lib/load';
import { params, setParams } from '../lib/router';
import { keep, settings } from '../lib/settings';
import { bare, ended } from '../lib/states';
import type { Experiment, Job } from '../lib/types';
import { Empty, Loading, Problem, Progress, State } from '../parts/bits';
import { me } from '../lib/session';
import { useTitle } from '../parts/Shell';
import { Welcome } from '../parts/Welcome';

const most = 12; // rows of a part
const firstLook = 7 * 24 * 3600e3; // how far back somebody looks who has never looked

export function Dashboard() {
  useTitle('Dashboard');
  const now = useNow();
  const all = params.value.get('who') === 'all';
  const mine = me.value?.username ?? '';
  const loaded = useLoad(async (signal) => {
    const who = all ? {} : { users: [mine] };
    const list = (query: object) => api.experiments({ ...who, archived: 'false', withoutConfig: true, limit: most, ...query }, signal);
    const [running, failed, done, jobs, pools, tasks, any] = await Promise.all([
      list({ states: ['STATE_ACTIVE', 'STATE_RUNNING'], sortBy: 'SORT_BY_START_TIME', orderBy: 'ORDER_BY_DESC', limit: 50 }),
      list({ states: ['STATE_ERROR'], sortBy: 'SORT_BY_END_TIME', orderBy: 'ORDER_BY_DESC', limit: 50 }),
      list({ states: ['STATE_COMPLETED'], sortBy: 'SORT_BY_END_TIME', orderBy: 'ORDER_BY_DESC', limit: 6 }),
      api.queue(signal), api.pools(signal),
      Promise.all(taskKinds.map((k) => api.tasks(k, signal).then((l) => l.map((t) => ({ ...t, kind: k }))))),
      api.experiments({ limit: 1, withoutConfig: true }, signal),
    ]);
    return { running, failed: failed.experiments, done: done.experiments, jobs, pools, tasks: tasks.flat(), any: any.pagination.total };
  }, [all, mine]);
  useEffect(() => {
    const look = often(loaded.reload, 2000);
    let ready = false;
    return follow({
      onReady: () => {
        if (ready) look();
        ready = true;
      },
      onExperiment: look, onLook: look,
    });
  }, []);
  // The look that is kept on the server is the one before this visit, until somebody says that all is seen.
  const [begun] = useState(() => Date.now());
  const said = settings.value?.looked;
  const since = Number(said) || begun - firstLook;
  const d = loaded.data;
  if (!d) return loaded.error ? <Problem alone what="Could not load the dashboard." error={loaded.error} retry={loaded.reload} /> : <Loading lines={5} />;
  if (d.any === 0 && d.tasks.length === 0) return <div class="page"><div class="head"><h1>Dashboard</h1></div><Welcome /></div>;
  const failed = d.failed.filter((e) => e.endTime && Date.parse(e.endTime) > since);
  const own = (x: { username: string }) => all || x.username === mine;
  const waiting = d.jobs.filter((j) => own(j) && !hidden(j) && (j.waitingReason || j.summary?.state === 'STATE_QUEUED'));
  // What is in the queue is listed there, and not twice.
  const runs = d.running.experiments.filter((e) => bare(e.state) !== 'QUEUED');
  const more = d.running.pagination.total > d.running.experiments.length;
  const tasks = d.tasks.filter((t) => own(t) && !ended(t.state));
  return (
    <div class="page">
      <div class="head">
        <h1>Dashboard</h1>
        <span class="grow" />
        <span class="choices" role="group" aria-label="whose">
          <button type="button" class={all ? '' : 'on'} aria-pressed={!all} onClick={() => setParams({ who: '' })}>Mine</button>
          <button type="button" class={all ? 'on' : ''} aria-pressed={all} onClick={() => setParams({ who: 'all' })}>Everybody's</button>
        </span>
      </div>
      {loaded.error !== undefined && <Problem what="Could not load the dashboard again." error={loaded.error} retry={loaded.reload} />}
      <div class="board">
        <section class="card" aria-label="failed">
          <div class="row"><h2>Failed since {said ? 'you looked' : 'last week'}</h2>{failed.length > 0 && <span class="count">{failed.length}{d.failed.length === 50 && failed.length === 50 ? '+' : ''}</span>}<span class="grow" />{failed.length > 0 && <button type="button" onClick={() => keep('looked', String(Date.now()))}>All seen</button>}</div>
          {failed.length === 0 ? <p class="faint">Nothing{said && <>, since <time title={clock(new Date(since).toISOString())}>{ago(new Date(since).toISOString(), now)}</time></>}.</p> : (
            <ul class="items">{failed.slice(0, most).map((e) => <li key={e.id}><Name e={e} /><span class="faint small">{ago(e.endTime, now)}{all && `, ${e.displayName || e.username}`}</span><p class="small cause" title={e.error}>{e.error.split('\n')[0]}</p></li>)}</ul>
          )}
        </section>
        <section class="card" aria-label="waiting">
          <div class="row"><h2>Waits</h2>{waiting.length > 0 && <span class="count">{waiting.length}</span>}<span class="grow" /><a class="small" href="/cluster?tab=queue">The whole queue</a></div>
          {waiting.length === 0 ? <p class="faint">Nothing waits.</p> : <ul class="items">{waiting.slice(0, most).map((j) => <li key={j.jobId}><a class="cut" href={linkTo(j)}>{j.name}</a><span class="faint small">{plural(j.requestedSlots, 'slot')} of {j.resourcePool}{j.allocatedSlots > 0 && `, ${j.allocatedSlots} of them held`}, {ago(j.submissionTime, now)}{all && `, ${j.username}`}</span><p class="small">{j.waitingReason || 'The scheduler has not looked at it yet.'}</p></li>)}</ul>}
        </section>
        <section class="card wide" aria-label="running">
          <div class="row"><h2>Runs</h2>{runs.length > 0 && <span class="count">{runs.length}{more && '+'}</span>}<span class="grow" /><a class="small" href={`/experiments?state=ACTIVE${all ? '' : `&user=${encodeURIComponent(mine)}`}`}>All that run</a></div>
          {runs.length === 0 ? <p class="faint">No experiment runs.</p> : (
            <div class="scroll" tabIndex={0} role="group" aria-label="running experiments">
              <table class="plain">
                <thead><tr><th scope="col">Experiment</th><th scope="col">State</th><th scope="col">Progress</th><th scope="col" class="right">Best</th><th scope="col">Started</th></tr></thead>
                <tbody>{runs.slice(0, most).map((e) => <tr key={e.id}><td><Name e={e} /></td><td><State state={e.state} /></td><td><Progress value={e.progress} /></td><td class="right num">{e.bestTrialSearcherMetric === null ? <span class="faint">–</span> : <>{metric(e.bestTrialSearcherMetric)} <span class="faint">{e.searcherMetric}</span></>}</td><td><time title={clock(e.startTime)}>{ago(e.startTime, now)}</time></td></tr>)}</tbody>
              </table>
            </div>
          )}
        </section>
        <section class="card" aria-label="tasks">
          <div class="row"><h2>Tasks</h2>{tasks.length > 0 && <span class="count">{tasks.length}</span>}<span class="grow" /><a class="small" href="/tasks">All tasks</a></div>
          {tasks.length === 0 ? <p class="faint">No notebook, shell, command or TensorBoard is open.</p> : <ul class="items">{tasks.slice(0, most).map((t) => <li key={t.id}><a class="cut" href={`/tasks/${t.id}?kind=${t.kind}`}>{t.description || t.id}</a><State state={t.state} /></li>)}</ul>}
        </section>
        <section class="card" aria-label="pools">
          <div class="row"><h2>Pools</h2><span class="grow" /><a class="small" href="/cluster">The cluster</a></div>
          <ul class="items">{d.pools.map((p) => <li key={p.name}><a class="cut" href={`/cluster?pool=${encodeURIComponent(p.name)}`}>{p.name}</a><span class="small num">{p.slotsAvailable ? `${p.slotsUsed} of ${plural(p.slotsAvailable, 'slot')} in use` : 'no slots'}{p.stats?.queuedCount ? `, ${p.stats.queuedCount} waiting` : ''}</span><span class="usage" role="img" aria-label={`${p.slotsUsed} of ${p.slotsAvailable} slots of ${p.name}`}><span style={{ width: `${p.slotsAvailable ? (100 * p.slotsUsed) / p.slotsAvailable : 0}%` }} /></span></li>)}</ul>
          {d.pools.length === 0 && <Empty title="No pool is configured." />}
        </section>
        {d.done.length > 0 && (
          <section class="card wide" aria-label="completed">
            <div class="row"><h2>Completed last</h2></div>
            <ul class="items">{d.done.map((e) => <li key={e.id}><Name e={e} /><span class="faint small num">{e.bestTrialSearcherMetric !== null && `${e.searcherMetric} ${metric(e.bestTrialSearcherMetric)}, `}{ago(e.endTime, now)}</span></li>)}</ul>
          </section>
        )}
      </div>
    </div>
  );
}

const linkTo = (j: Job): string => (j.type === 'TYPE_EXPERIMENT' ? `/experiments/${j.entityId}` : `/tasks/${j.entityId}`);

function Name({ e }: { e: Experiment }) {
  return <a class="cut" href={`/experiments/${e.id}`} title={e.name}><span class="faint num">{e.id}</span> {e.name}</a>;
}
