// One trial of an experiment that has several.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { api, ApiError } from '../lib/api';
import { useCurves } from '../lib/curves';
import { ago, bytes, clock, duration, flat, metric, plain } from '../lib/format';
import { lazy } from '../lib/lazy';
import { follow, often } from '../lib/live';
import { useLoad, useNow } from '../lib/load';
import { logOfTrial } from '../lib/logs';
import { complain, say } from '../lib/toast';
import { ended } from '../lib/states';
import { waited, waits } from '../lib/waiting';
import { Checkpoints } from '../parts/Checkpoints';
import { Confirm, Empty, Fact, Loading, Problem, State, Tabs, type Question } from '../parts/bits';
import { runInWandB } from '../lib/wandb';
import { Curves } from '../parts/Curves';
import { LogView } from '../parts/LogView';
import { Notice } from '../parts/Notice';
import { Values } from '../parts/Values';
import { useTitle } from '../parts/Shell';

const Profile = lazy(() => import('../parts/Profile').then((m) => m.Profile));
const Timeline = lazy(() => import('../parts/Timeline').then((m) => m.Timeline));

export function TrialPage({ params: { id: text, tab = 'overview' } }: { params: Record<string, string> }) {
  const id = Number(text);
  const now = useNow();
  const trial = useLoad((signal) => api.trial(id, signal), [id]);
  const t = trial.data;
  const experiment = useLoad(async (signal) => (t ? (await api.experiment(t.experimentId, signal)).experiment : null), [t?.experimentId]);
  const checkpoints = useLoad(async (signal) => (await api.trialCheckpoints(id, signal)).checkpoints, [id]);
  const ids = useMemo(() => [id], [id]);
  const curves = useCurves(ids);
  const [question, setQuestion] = useState<Question | null>(null);
  useTitle(`Trial ${text}`);

  useEffect(() => {
    const look = often(() => {
      trial.reload();
      checkpoints.reload();
    }, 1000);
    return follow({
      trials: ids,
      onReady: curves.reload,
      onMetrics: curves.report,
      onExperiment: look,
      onLook: (l) => l.what.includes('experiments') && look(),
    });
  }, [id]);

  if (!t) {
    if (trial.error instanceof ApiError && trial.error.status === 404) return <Empty alone title={`There is no trial ${text}.`}><p><a href="/experiments">All experiments</a></p></Empty>;
    return trial.error ? <Problem alone what={`Could not load trial ${text}.`} error={trial.error} retry={trial.reload} /> : <Loading />;
  }
  const e = experiment.data;
  const over = ended(t.state), wait = waited(t, now);
  const kill = () => setQuestion({
    title: `Kill trial ${t.id}?`, text: 'The trial is killed immediately. Progress since its last checkpoint is lost; the experiment continues without it.', yes: 'Kill', danger: true,
    act: async () => {
      try {
        await api.killTrial(t.id);
        say(`Trial ${t.id} is being killed`);
        trial.reload();
      } catch (error) {
        complain(`Kill trial ${t.id}`, error);
      }
    },
  });
  const wandb = runInWandB(e?.config, t.taskId);
  return (
    <div class={`page${tab === 'logs' ? ' full' : ''}`}>
      <p class="crumbs"><a href="/experiments">Experiments</a> <span aria-hidden="true">/</span> <a href={`/experiments/${t.experimentId}/trials`}>{t.experimentId} {e?.name}</a></p>
      <div class="head">
        <h1>Trial <span class="num">{t.id}</span></h1>
        <State state={t.state} />
        <span class="grow" />
        <a class="button" href={`/trials/${t.id}/fork`}>Train again</a>
        <a class="button" href={`/trials/${t.id}/fork?as=search`}>Search around it</a>
        {t.checkpointCount > 0 && <a class="button" href={`/trials/${t.id}/fork?as=continue`}>Continue from here</a>}
        {!over && <button type="button" class="danger" onClick={kill}>Kill</button>}
      </div>
      {t.error && <Notice kind="bad" title="Ended with an error" text={t.error} log={tab === 'logs' ? undefined : logOfTrial(t.id)}>{tab !== 'logs' && <a class="button" href={`/trials/${t.id}/logs`}>See the log</a>}</Notice>}
      {!t.error && t.waitingReason && !over && <Notice kind="wait" title="The trial waits" text={t.waitingReason} />}
      <Tabs at={tab} href={(k) => `/trials/${t.id}${k === 'overview' ? '' : `/${k}`}`}
        items={[{ key: 'overview', title: 'Overview' }, { key: 'checkpoints', title: 'Checkpoints', count: t.checkpointCount }, { key: 'timeline', title: 'Timeline' }, { key: 'profiler', title: 'Profiler' }, { key: 'logs', title: 'Logs' }]} />
      {tab === 'overview' && (
        <div class="split">
          <div><Curves data={curves} trials={ids} metric={e?.searcherMetric ?? ''} over={over} /></div>
          <aside class="facts">
            <section class="card" aria-label="facts">
              <dl>
                <Fact name={`Best ${e?.searcherMetric ?? 'metric'}`}><span class="num big">{metric(t.searcherMetricValue)}</span></Fact>
                <Fact name={waits(t.state) ? 'Submitted' : 'Started'}><time dateTime={t.startTime} title={clock(t.startTime)}>{ago(t.startTime, now)}</time></Fact>
                {wait !== null && <Fact name="Waiting for"><span class="num">{duration(wait)}</span></Fact>}
                <Fact name="Ran"><span class="num">{duration(t.wallClockTime)}</span></Fact>
                <Fact name="Batches"><span class="num">{t.totalBatchesProcessed.toLocaleString('en')}</span></Fact>
                <Fact name="Restarts"><span class="num">{t.restarts}</span></Fact>
                {t.logPolicyMatched && <Fact name="Log policy"><span class="tag">{t.logPolicyMatched}</span></Fact>}
                {wandb && <Fact name="W&B"><a href={wandb} rel="noopener noreferrer" target="_blank">The run in W&amp;B</a></Fact>}
                <Fact name="Checkpoints"><span class="num">{t.checkpointCount}</span>, {bytes(t.totalCheckpointSize)}</Fact>
              </dl>
            </section>
            <Values of={t} />
            <section class="card" aria-label="hyperparameters">
              <h2>Hyperparameters</h2>
              <dl class="mono">{flat(t.hparams).map(([k, v]) => <Fact key={k} name={k}>{plain(v)}</Fact>)}</dl>
            </section>
          </aside>
        </div>
      )}
      {tab === 'checkpoints' && (checkpoints.error !== undefined && !checkpoints.data ? <Problem what="Could not load the checkpoints." error={checkpoints.error} retry={checkpoints.reload} /> : checkpoints.data ? <Checkpoints list={checkpoints.data} metricName={e?.searcherMetric ?? ''} smaller={e?.config.searcher?.smaller_is_better !== false} trials={false} over={over} /> : <Loading />)}
      {tab === 'timeline' && <Timeline experiment={t.experimentId} trial={t.id} changed={t.state} unmanaged={!!e?.unmanaged} over={over} />}
      {tab === 'profiler' && <Profile trial={t.id} experiment={e ?? undefined} over={over} />}
      {tab === 'logs' && <LogView log={logOfTrial(t.id)} over={over} name={`the log of trial ${t.id}`} />}
      <Confirm question={question} close={() => setQuestion(null)} />
    </div>
  );
}
