// The cluster: pools, nodes with their slots, and the queue with the reason why each job waits.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { api } from '../lib/api';
import { ago, ahead, clock, plural } from '../lib/format';
import { reloadOn } from '../lib/live';
import { lazy } from '../lib/lazy';
import { useLoad, useNow } from '../lib/load';
import { endsIn, hidden, placeOf, stateOf, waits } from '../lib/queue';
import { reservations, sentence } from '../lib/reservations';
import { params, setParams } from '../lib/router';
import { bare } from '../lib/states';
import { slotsOf } from '../lib/nodes';
import type { Agent, AllocationSummary, Job, Reservation, ResourcePool, Slot } from '../lib/types';
import { Empty, Loading, Problem, Progress, State, Tabs } from '../parts/bits';
import { useTitle } from '../parts/Shell';
import { sorted, sortOf, Table, type Column } from '../parts/Table';

export function Cluster() {
  useTitle('Cluster');
  const tab = params.value.get('tab') ?? 'nodes';
  const loaded = useLoad(async (signal) => {
    const [pools, agents, jobs, live, reserved] = await Promise.all([api.pools(signal), api.agents(signal), api.queue(signal), api.liveTasks(signal), reservations.all(signal)]);
    return { pools, agents, jobs, live, reserved };
  }, []);
  useEffect(() => reloadOn(['nodes', 'queue'], loaded.reload, 1000), []);
  const d = loaded.data;
  const pool = params.value.get('pool') ?? '';
  const jobs = (d?.jobs ?? []).filter((j) => !pool || j.resourcePool === pool);
  return (
    <div class="page">
      <div class="head"><h1>Cluster</h1></div>
      {loaded.error !== undefined && <Problem what="Could not load the cluster." error={loaded.error} retry={loaded.reload} />}
      {!d ? !loaded.error && <Loading lines={5} /> : (
        <>
          <Pools pools={d.pools} chosen={pool} />
          <Tabs at={tab} href={(k) => `/cluster?${new URLSearchParams({ ...(k === 'nodes' ? {} : { tab: k }), ...(pool ? { pool } : {}) })}`}
            items={[{ key: 'nodes', title: 'Nodes', count: d.agents.length }, { key: 'queue', title: 'Queue', count: jobs.filter(waits).length }]} />
          <Reserved list={d.reserved.filter((v) => !pool || v.resourcePool === pool)} />
          {tab === 'queue' ? <Queue jobs={jobs} pools={d.pools} mixed={!pool && d.pools.length > 1} reload={loaded.reload} />
            : <Nodes agents={d.agents.filter((a) => !pool || a.resourcePools.includes(pool))} live={d.live} pool={pool} />}
        </>
      )}
    </div>
  );
}

// Reserved are the reservations of the next day: they decide who starts.
function Reserved({ list }: { list: Reservation[] }) {
  const now = useNow();
  const near = list.filter((v) => Date.parse(v.startTime) - now < 24 * 3600 * 1000);
  if (near.length === 0) return null;
  return (
    <section aria-label="reservations">
      {near.map((v) => <p key={v.id} class="why" title={v.note}>{v.active ? 'Now ' : ''}{sentence(v)}{v.note && <span class="faint"> ({v.note})</span>}</p>)}
      {list.length > near.length && <p class="small"><a href="/manage/reservations">{plural(list.length - near.length, 'later reservation')}</a></p>}
    </section>
  );
}

const kindOf: Record<string, string> = { TYPE_CUDA: 'GPU', TYPE_ROCM: 'GPU', TYPE_CPU: 'CPU slot' };

function Pools({ pools, chosen }: { pools: ResourcePool[]; chosen: string }) {
  return (
    <section class="pools" aria-label="resource pools">
      {pools.map((p) => (
        <button key={p.name} type="button" class={`card pool${chosen === p.name ? ' on' : ''}`} aria-pressed={chosen === p.name} onClick={() => setParams({ pool: chosen === p.name ? '' : p.name })}>
          <span class="row"><strong>{p.name}</strong><span class="grow" />{p.defaultComputePool && <span class="tag">compute</span>}{p.defaultAuxPool && <span class="tag">aux</span>}</span>
          <span class="faint cut">{p.description || p.accelerator || plural(p.numAgents, 'node')}</span>
          <span class="usage" role="img" aria-label={`${p.slotsUsed} of ${p.slotsAvailable} slots in use`}><span style={{ width: `${p.slotsAvailable ? (100 * p.slotsUsed) / p.slotsAvailable : 0}%` }} /></span>
          <span class="row small">
            <span><b class="num">{p.slotsUsed}</b> of <b class="num">{p.slotsAvailable}</b> {kindOf[p.slotType] ?? 'slot'}s in use</span>
            <span class="grow" />
            {!!p.stats?.queuedCount && <span class="state wait">{p.stats.queuedCount} waiting</span>}
          </span>
        </button>
      ))}
      {pools.length === 0 && <Empty title="No pool is configured."><p>The master's configuration names them under resource_pools.</p></Empty>}
    </section>
  );
}

// whoUses finds by a container what holds it.
function users(live: Record<string, AllocationSummary>): Map<string, AllocationSummary> {
  const by = new Map<string, AllocationSummary>();
  for (const a of Object.values(live)) for (const r of a.resources) by.set(r.containerId, a);
  return by;
}

// linkTo is where to look at what an attempt belongs to.
function linkTo(a: AllocationSummary): string {
  const experiment = a.name.match(/\(Experiment (\d+)\)$/)?.[1];
  return experiment ? `/experiments/${experiment}` : `/tasks/${a.taskId ?? ''}`;
}

function Nodes({ agents, live, pool }: { agents: Agent[]; live: Record<string, AllocationSummary>; pool: string }) {
  const now = useNow();
  const by = useMemo(() => users(live), [live]);
  const [at, setAt] = useState('');
  if (agents.length === 0) {
    return <Empty title="No node is in this pool."><p>Nodes are Nomad's clients; {pool ? <>this pool takes those of its node pool.</> : <>the pools' node pools say which of them are used.</>}</p></Empty>;
  }
  return (
    <section class="nodes" aria-label="nodes">
      <p class="legend" aria-hidden="true"><span class="slot free" /> free <span class="slot used" /> in use <span class="slot drain" /> draining <span class="slot out" /> out of use</p>
      {agents.map((a) => {
        const slots = slotsOf(a).sort((x, y) => x.resourcePool.localeCompare(y.resourcePool) || x.id.localeCompare(y.id, 'en', { numeric: true }));
        const inUse = slots.filter((s) => s.container).length;
        const brands = [...new Set(slots.map((s) => s.device?.brand).filter(Boolean))].join(', ');
        const chosen = slots.find((s) => at === `${a.id}/${s.id}`);
        const others = Object.values(a.containers).filter((c) => c.devices.length === 0);
        return (
          <article key={a.id} class="card node" aria-label={`node ${a.id}`}>
            <div class="row wrap">
              <h2><a href={`/nodes/${encodeURIComponent(a.id)}`}>{a.id}</a></h2>
              {a.lost ? <span class="state bad">lost</span> : a.draining ? <span class="state hold">draining</span> : !a.enabled ? <span class="state bad">takes no tasks</span> : <span class="state good">ready</span>}
              <span class="faint small">{a.addresses.join(', ')} · {a.resourcePools.join(', ') || 'in no pool'} · joined {ago(a.registeredTime, now)}</span>
              <span class="grow" />
              <span class="small"><b class="num">{inUse}</b> of <b class="num">{slots.length}</b> in use{brands && <span class="faint"> · {brands}</span>}</span>
            </div>
            {whyNot(a) && <p class="why">{whyNot(a)}</p>}
            {slots.filter((s) => s.health).map((s) => <p key={s.id} class="why">Slot {s.id}: {s.health}</p>)}
            <div class="slots" role="list" aria-label={`slots of ${a.id}`}>
              {slots.filter((s) => !pool || s.resourcePool === pool).map((s, i, shown) => {
                const another = shown.some((o) => o.resourcePool !== s.resourcePool) && shown[i - 1]?.resourcePool !== s.resourcePool;
                const user = s.container ? by.get(s.container.id) : undefined;
                const words = slotWords(s, user);
                return (
                  <span key={s.id} role="listitem">
                    {another && <span class="faint small of">{s.resourcePool}</span>}
                    <button type="button" class={`slot ${slotKind(s)}${chosen === s ? ' at' : ''}`} title={words} aria-label={words} aria-expanded={chosen === s} onClick={() => setAt(chosen === s ? '' : `${a.id}/${s.id}`)}>
                      {s.id.split('/').pop()}
                    </button>
                  </span>
                );
              })}
            </div>
            {chosen && <SlotFacts slot={chosen} user={chosen.container ? by.get(chosen.container.id) : undefined} />}
            {others.length > 0 && <p class="small faint">Without a slot: {others.map((c, i) => { const u = by.get(c.id); return <span key={c.id}>{i > 0 && ', '}{u ? <a href={linkTo(u)}>{u.name}</a> : c.id.slice(0, 8)}</span>; })}</p>}
          </article>
        );
      })}
    </section>
  );
}

function whyNot(a: Agent): string {
  if (a.lost) return 'Nomad does not reach this node: its machine or its Nomad client does not answer. It takes no new task, and its tasks run again elsewhere.';
  if (a.draining) return 'This node is draining: its tasks are asked to save a checkpoint and end, and it takes no new task.';
  if (!a.enabled) return 'This node was disabled here or in Nomad. det agent enable makes it take tasks again.';
  return '';
}

function slotKind(s: Slot): string {
  if (s.container) return s.draining ? 'used drain' : 'used';
  return s.draining ? 'drain' : s.enabled ? 'free' : 'out';
}

function slotWords(s: Slot, user: AllocationSummary | undefined): string {
  const name = `slot ${s.id}${s.device?.brand ? `, ${s.device.brand}` : ''}`;
  if (s.container) return `${name}: ${user?.name ?? `job ${s.container.id} of Nomad`}`;
  return `${name}: ${s.draining ? 'draining' : s.enabled ? 'free' : s.health || 'out of use'}`;
}

function SlotFacts({ slot, user }: { slot: Slot; user: AllocationSummary | undefined }) {
  return (
    <p class="small slotfacts" role="status">
      <b>Slot {slot.id}</b>{slot.device?.brand && `, ${slot.device.brand}`}{slot.device?.uuid && <> <code>{slot.device.uuid}</code></>}{' – '}
      {user ? <>used by <a href={linkTo(user)}>{user.name}</a> ({bare(slot.container?.state ?? '').toLowerCase()})</> : slot.container ? <>used by Nomad's job <code>{slot.container.id}</code>, which does not belong to Detent</> : slot.draining ? 'draining' : slot.enabled ? 'free' : slot.health || 'out of use: it or its node is disabled'}
    </p>
  );
}

const QueueTools = lazy(() => import('../parts/QueueTools').then((m) => m.QueueTools), true);

// Start says when a waiting job may start; the reason why that is not known is its title.
function Start({ job, now }: { job: Job; now: number }) {
  if (job.estimatedStart) return <time dateTime={job.estimatedStart} title={`estimated: ${clock(job.estimatedStart)}`}>{ahead(job.estimatedStart, now)}</time>;
  return job.startUnknown ? <span class="faint" title={job.startUnknown}>not known</span> : null;
}

// End says when the first running attempt of a job is expected to end.
function End({ job, now }: { job: Job; now: number }) {
  const e = job.expectedEnd;
  return e ? <span title={`${e.attempts > 1 ? `the first of ${e.attempts} attempts; ` : ''}expected: ${clock(e.likely)}; nine in ten end from ${clock(e.earliest)} to ${clock(e.latest)}`}>{endsIn(e, now)}</span> : null;
}

// JobName is the name of a job, with the number of an experiment, because names repeat.
function JobName({ job }: { job: Job }) {
  if (hidden(job)) return <span class="faint cut" title="You have no role in its workspace. It is here because it decides how long others wait.">not yours to see</span>;
  if (job.type !== 'TYPE_EXPERIMENT') return <a class="cut" href={`/tasks/${job.entityId}`}>{job.name}</a>;
  return <a class="cut" href={`/experiments/${job.entityId}`}>{job.name} <span class="faint">#{job.entityId}</span></a>;
}

function Queue({ jobs, pools, mixed, reload }: { jobs: Job[]; pools: ResourcePool[]; mixed: boolean; reload: () => void }) {
  const now = useNow();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const sort = sortOf({ key: 'place', desc: false });
  const order = useMemo(() => new Map(jobs.map((j, i) => [j.jobId, i])), [jobs]);
  const columns: Column<Job>[] = [
    { key: 'place', title: '#', width: '3.5rem', right: true, sort: (j) => order.get(j.jobId) ?? 0, render: (j) => <span class="num faint" title={`place in the queue${mixed ? ` of ${j.resourcePool}` : ''}`}>{placeOf(j)}</span> },
    { key: 'name', title: 'Name', width: 'minmax(11rem, 4fr)', narrow: true, sort: (j) => j.name, render: (j) => <JobName job={j} /> },
    { key: 'type', title: 'Kind', hidden: true, width: '7rem', sort: (j) => j.type, render: (j) => bare(j.type).toLowerCase() },
    { key: 'state', title: 'State', width: '7.5rem', narrow: true, sort: stateOf, render: (j) => <State state={stateOf(j)} /> },
    { key: 'slots', title: 'Slots', width: '5.5rem', right: true, narrow: true, sort: (j) => j.requestedSlots, render: (j) => <span class="num" title="held and wanted">{j.allocatedSlots} / {j.requestedSlots}</span> },
    { key: 'pool', title: 'Pool', hidden: !mixed, width: '7rem', sort: (j) => j.resourcePool, render: (j) => j.resourcePool },
    { key: 'why', title: 'Why it waits', width: 'minmax(14rem, 5fr)', render: (j) => <span class="two" title={j.waitingReason}>{j.waitingReason}</span> },
    { key: 'start', title: 'Starts', width: '6rem', sort: (j) => j.estimatedStart ?? (j.startUnknown ? '9' : ''), render: (j) => <Start job={j} now={now} /> },
    { key: 'end', title: 'Ends', width: '7.5rem', sort: (j) => j.expectedEnd?.likely ?? '', render: (j) => <End job={j} now={now} /> },
    { key: 'progress', title: 'Progress', hidden: true, width: '8rem', sort: (j) => j.progress ?? -1, render: (j) => <Progress value={j.progress} /> },
    { key: 'priority', title: 'Priority', width: '5.25rem', right: true, sort: (j) => j.priority ?? 0, render: (j) => <span class="num">{j.priority}</span> },
    { key: 'weight', title: 'Weight', hidden: true, width: '5.25rem', right: true, sort: (j) => j.weight, render: (j) => <span class="num">{j.weight}</span> },
    { key: 'user', title: 'Owner', width: '7rem', sort: (j) => j.username, render: (j) => <span class="cut">{j.username}</span> },
    { key: 'since', title: 'Submitted', width: '6.25rem', sort: (j) => j.submissionTime, render: (j) => j.submissionTime && <time dateTime={j.submissionTime} title={clock(j.submissionTime)}>{ago(j.submissionTime, now)}</time> },
  ];
  const rows = sorted(jobs, columns, sort);
  return <Table<Job> label="queue" columns={columns} count={rows.length} row={(i) => rows[i]} id={(j) => j.jobId} sort={sort} fit tall
    selected={selected} onSelect={setSelected} tools={<QueueTools jobs={jobs} pools={pools} selected={selected} clear={() => setSelected(new Set())} reload={reload} />}
    empty={<Empty title="No task is running or waiting." />} />;
}
