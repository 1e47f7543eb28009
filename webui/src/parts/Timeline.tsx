// The history of an experiment's attempts: when each waited, where it ran, and why it ended.
import { useMemo } from 'preact/hooks';
import { api } from '../lib/api';
import { clock, duration, plural } from '../lib/format';
import { useLoad, useNow } from '../lib/load';
import { params, setParams } from '../lib/router';
import { ending, lanesOf, rangeOf, type Lane } from '../lib/timeline';
import type { Attempt } from '../lib/types';
import { Empty, Loading, Problem } from './bits';

const page = 500; // attempts of one page
const maxLanes = 60; // trials that are drawn

const words = { queued: 'waited in the queue', starting: 'started on its nodes', running: 'ran', leaving: 'was told to end, and did' };

export function Timeline({ experiment, trial, changed, unmanaged, over }: { experiment: number; trial?: number; changed: unknown; unmanaged: boolean; over: boolean }) {
  const now = useNow(5000);
  const offset = Math.max(0, Number(params.value.get('from')) || 0);
  const loaded = useLoad((signal) => api.attempts(experiment, { limit: page, offset, trial: trial ?? '' }, signal), [experiment, trial, offset, changed]);
  const list = loaded.data?.attempts ?? [];
  const live = list.some((a) => !a.endTime);
  const lanes = useMemo(() => lanesOf(list, now), [list, live && now]);
  if (loaded.error && !loaded.data) return <Problem what="Could not load the attempts." error={loaded.error} retry={loaded.reload} />;
  if (!loaded.data) return <Loading lines={5} />;
  if (list.length === 0) {
    if (unmanaged) return <Empty title="This training has no attempts."><p>Its program runs outside of the cluster and only reports what it does.</p></Empty>;
    if (over) return <Empty title="There was no attempt."><p>The {trial ? 'trial' : 'experiment'} ended before it had one.</p></Empty>;
    return <Empty title="No attempt yet."><p>A trial gets its first attempt when the experiment is active.</p></Empty>;
  }
  const [from, to] = rangeOf(lanes, now);
  const total = loaded.data.pagination.total;
  const drawn = lanes.slice(-maxLanes);
  return (
    <>
      <p class="lead">{plural(total, 'attempt')} of {plural(lanes.length, 'trial')}{restarts(list)}. Times are of this browser.</p>
      <p class="legend" aria-hidden="true"><i class="span queued" /> in the queue <i class="span starting" /> starting <i class="span running" /> running <i class="span leaving" /> leaving</p>
      <section class="card timeline" aria-label="timeline">
        {drawn.length < lanes.length && <p class="hint">The {maxLanes} newest trials are drawn.</p>}
        <div class="axis" aria-hidden="true"><span /><span class="row"><span>{clock(new Date(from).toISOString())}</span><span class="grow" /><span>{clock(new Date((from + to) / 2).toISOString()).slice(11)}</span><span class="grow" /><span>{clock(new Date(to).toISOString()).slice(11)}</span></span></div>
        {drawn.map((l) => <LaneOf key={l.key} lane={l} from={from} to={to} />)}
      </section>
      <div class="card scroll" tabIndex={0} role="group" aria-label="attempts">
        <table class="plain attempts">
          <thead><tr><th scope="col">Trial</th><th scope="col">Attempt</th><th scope="col">Nodes</th><th scope="col">Queued</th><th scope="col" class="right">Waited</th><th scope="col" class="right">Ran</th><th scope="col">End</th><th scope="col">Why</th></tr></thead>
          <tbody>{list.map((a) => <Row key={a.allocationId} a={a} now={now} />)}</tbody>
        </table>
      </div>
      {total > list.length && (
        <p class="row"><button type="button" disabled={offset === 0} onClick={() => setParams({ from: Math.max(0, offset - page) || '' })}>Newer</button><button type="button" disabled={offset + page >= total} onClick={() => setParams({ from: offset + page })}>Older</button><span class="faint num">{offset + 1} to {offset + list.length} of {total.toLocaleString('en')}</span></p>
      )}
    </>
  );
}

function restarts(list: readonly Attempt[]): string {
  const n = (o: string) => list.filter((a) => ending(a).word === o).length;
  const parts = [[n('preempted'), 'preempted'], [n('failed'), 'failed'], [n('lost'), 'lost']].filter(([k]) => k).map(([k, w]) => `${k} ${w}`);
  return parts.length ? `; ${parts.join(', ')}` : '';
}

function LaneOf({ lane, from, to }: { lane: Lane; from: number; to: number }) {
  const x = (t: number) => (100 * (t - from)) / (to - from);
  return (
    <div class="lane">
      {lane.trial ? <a class="num" href={`/trials/${lane.trial}`}>{lane.trial}</a> : <code>{lane.key.slice(0, 8)}</code>}
      <span class="track">
        {lane.lines.flatMap(({ attempt: a, spans }) => {
          const end = ending(a);
          return [
            ...spans.map((s) => <i key={`${a.run}${s.phase}`} class={`span ${s.phase}`} style={{ left: `${x(s.from)}%`, width: `${Math.max(0.15, x(s.to) - x(s.from))}%` }}
              title={`Attempt ${a.run} ${words[s.phase]} for ${duration((s.to - s.from) / 1000)}${s.phase === 'running' && a.members.length ? ` on ${a.members.map((m) => m.node).join(', ')}` : ''}`} />),
            ...(a.endTime && a.outcome !== 'completed' ? [<i key={`${a.run}end`} class={`mark ${end.kind}`} style={{ left: `${x(Date.parse(a.endTime))}%` }} title={`Attempt ${a.run}: ${end.word}${end.why ? `, ${end.why}` : ''}`} />] : []),
          ];
        })}
      </span>
    </div>
  );
}

function Row({ a, now }: { a: Attempt; now: number }) {
  const end = ending(a);
  const seconds = (from: string | null, to: string | null) => (from ? ((to ? Date.parse(to) : now) - Date.parse(from)) / 1000 : null);
  return (
    <tr>
      <td class="num">{a.trialId ? <a href={`/trials/${a.trialId}`}>{a.trialId}</a> : '–'}</td>
      <td class="num">{a.run}{a.nomadUrl && <> <a href={a.nomadUrl} target="_blank" rel="noreferrer" title={a.nomadJob}>Nomad</a></>}</td>
      <td>{a.members.length ? a.members.map((m, i) => <span key={m.rank}>{i > 0 && ', '}<a href={`/nodes/${encodeURIComponent(m.node)}`}>{m.node}</a>{m.slotIds.length > 0 && <span class="faint"> {m.slotIds.join(' ')}</span>}</span>) : <span class="faint">–</span>}</td>
      <td><time dateTime={a.queuedTime}>{clock(a.queuedTime)}</time></td>
      <td class="right num">{duration(seconds(a.queuedTime, a.assignedTime ?? a.endTime))}</td>
      <td class="right num">{duration(seconds(a.startTime, a.endTime))}</td>
      <td><span class={`state ${end.kind}`}>{end.word}</span>{a.exitCode !== null && a.exitCode !== 0 && <span class="faint num"> exit {a.exitCode}</span>}</td>
      <td class="why">{end.why || <span class="faint">–</span>}</td>
    </tr>
  );
}
