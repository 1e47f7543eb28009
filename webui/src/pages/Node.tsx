// One node: its slots with their health and what their devices measure, what runs there, and what ran there.
import { useEffect, useMemo } from 'preact/hooks';
import { api } from '../lib/api';
import { ago, bytes, clock, duration, plural } from '../lib/format';
import { reloadOn } from '../lib/live';
import { useLoad, useNow } from '../lib/load';
import { slotsOf } from '../lib/nodes';
import { bare } from '../lib/states';
import { ending } from '../lib/timeline';
import type { AllocationSummary, DeviceMeasurement } from '../lib/types';
import { Copy, Empty, Fact, Loading, Problem } from '../parts/bits';
import { useTitle } from '../parts/Shell';

const measureEvery = 10_000; // milliseconds
const maxPast = 50; // attempts that ran there

export function NodePage({ params: { id = '' } }: { params: Record<string, string> }) {
  useTitle(`Node ${id}`);
  const now = useNow();
  const loaded = useLoad(async (signal) => {
    const [agents, live] = await Promise.all([api.agents(signal), api.liveTasks(signal)]);
    return { agents, live };
  }, []);
  useEffect(() => reloadOn(['nodes', 'queue'], loaded.reload, 1000), []);
  // Devices say something new all the time, so the page asks by the clock.
  const devices = useLoad((signal) => api.measurements(id, signal).catch(() => null), [id]);
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && devices.reload(), measureEvery);
    return () => clearInterval(timer);
  }, [id]);
  const past = useLoad((signal) => api.nodeAttempts(id, { limit: maxPast }, signal), [id, loaded.data && Object.keys(loaded.data.agents.find((a) => a.id === id)?.containers ?? {}).sort().join()]);
  const users = useMemo(() => {
    const by = new Map<string, AllocationSummary>();
    for (const a of Object.values(loaded.data?.live ?? {})) for (const r of a.resources) by.set(r.containerId, a);
    return by;
  }, [loaded.data]);
  if (!loaded.data) return loaded.error ? <Problem alone what="Could not load the node." error={loaded.error} retry={loaded.reload} /> : <Loading lines={5} />;
  const node = loaded.data.agents.find((a) => a.id === id);
  if (!node) return <Empty alone title={`There is no node ${id}.`}><p>It may have left the cluster. <a href="/cluster">The cluster</a></p></Empty>;
  const slots = slotsOf(node).sort((a, b) => a.id.localeCompare(b.id, 'en', { numeric: true }));
  const here = new Map<string, { attempt: AllocationSummary; slots: string[] }>();
  for (const c of Object.values(node.containers)) {
    const attempt = users.get(c.id);
    if (attempt) here.set(attempt.allocationId, { attempt, slots: slots.filter((s) => s.container?.id === c.id).map((s) => s.id.split('/').pop() ?? s.id) });
  }
  const ill = slots.filter((s) => s.health);
  const measured = new Map((devices.data ?? []).map((d) => [d.uuid, d]));
  const any = slots.some((s) => measured.has(s.device?.uuid ?? ''));
  const linked = slots.some((s) => s.linkGroup);
  const ended = (past.data?.attempts ?? []).filter((a) => a.endTime);
  return (
    <div class="page">
      <p class="crumbs"><a href="/cluster">Cluster</a> <span aria-hidden="true">/</span> nodes</p>
      <div class="head">
        <h1>{node.id}</h1>
        {node.lost ? <span class="state bad">lost</span> : node.draining ? <span class="state hold">draining</span> : !node.enabled ? <span class="state bad">takes no tasks</span> : <span class="state good">ready</span>}
      </div>
      {loaded.error !== undefined && <Problem what="Could not load the node again." error={loaded.error} retry={loaded.reload} />}
      {ill.length > 0 && <div class="notice bad" role="alert"><strong>{plural(ill.length, 'slot')} {ill.length === 1 ? 'is' : 'are'} out of use</strong>{ill.map((s) => <p key={s.id}>{s.id}: {s.health}</p>)}</div>}
      <div class="split">
        <div class="stack">
          <section class="card scroll" aria-label="slots" tabIndex={0} role="group">
            <h2>Slots</h2>
            {slots.length === 0 ? <p class="faint">This node has no slots.</p> : (
              <table class="plain">
                <thead><tr><th scope="col">Slot</th><th scope="col">Device</th><th scope="col">Pool</th>{linked && <th scope="col" class="right">Link group</th>}{any && <><th scope="col" class="right">Temperature</th><th scope="col" class="right">Use</th><th scope="col" class="right">Memory</th><th scope="col" class="right">Power</th></>}<th scope="col">State</th><th scope="col">Used by</th></tr></thead>
                <tbody>
                  {slots.map((s) => {
                    const user = s.container ? users.get(s.container.id) : undefined;
                    return (
                      <tr key={s.id}>
                        <th scope="row" class="num">{s.id}</th>
                        <td>{s.device?.brand || bare(s.device?.type ?? '').toLowerCase()}{s.device?.uuid && <> <code title={s.device.uuid}>{s.device.uuid.slice(0, 12)}</code> <Copy text={s.device.uuid} what="device's id" /></>}</td>
                        <td>{s.resourcePool}</td>
                        {linked && <td class="right num">{s.linkGroup || ''}</td>}
                        {any && <Measured of={measured.get(s.device?.uuid ?? '')} />}
                        <td>{s.container ? <span class="state run">in use</span> : s.draining ? <span class="state hold">draining</span> : s.enabled ? <span class="state good">free</span> : <span class="state bad">out of use</span>}</td>
                        <td class="why">{user ? <a href={linkTo(user)}>{user.name}</a> : s.container ? <>Nomad's job <code>{s.container.id}</code></> : s.health || <span class="faint">–</span>}</td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            )}
          </section>
          <section class="card" aria-label="what runs here">
            <h2>What runs here</h2>
            {here.size === 0 ? <p class="faint">No task runs on this node.</p> : (
              <ul class="items">{[...here.values()].map(({ attempt: a, slots: of }) => <li key={a.allocationId}><a href={linkTo(a)}>{a.name}</a> <span class="faint small">{a.resourcePool}{of.length > 0 && `, ${of.length === 1 ? 'slot' : 'slots'} ${of.join(' ')}`}, since {ago(a.registeredTime, now)}</span></li>)}</ul>
            )}
          </section>
          <section class="card scroll" aria-label="what ran here" tabIndex={0} role="group">
            <h2>What ran here</h2>
            {past.error !== undefined ? <Problem what="Could not load what ran here." error={past.error} retry={past.reload} /> : !past.data ? <Loading /> : ended.length === 0 ? <p class="faint">Nothing that you may see.</p> : (
              <table class="plain">
                <thead><tr><th scope="col">Attempt</th><th scope="col">Pool</th><th scope="col" class="right">Slots</th><th scope="col">Ended</th><th scope="col" class="right">Ran</th><th scope="col">Outcome</th><th scope="col">Why</th></tr></thead>
                <tbody>
                  {ended.map((a) => (
                    <tr key={a.allocationId}>
                      <th scope="row">{a.trialId ? <a href={`/trials/${a.trialId}`}>trial {a.trialId}</a> : <a href={`/tasks/${a.taskId}`}>task {a.taskId.slice(0, 8)}</a>}{a.run > 1 && <span class="faint small">, run {a.run}</span>}</th>
                      <td>{a.resourcePool}</td>
                      <td class="right num">{a.slots}</td>
                      <td><time dateTime={a.endTime ?? ''} title={clock(a.endTime)}>{ago(a.endTime, now)}</time></td>
                      <td class="right num">{duration(a.startTime && a.endTime ? (Date.parse(a.endTime) - Date.parse(a.startTime)) / 1000 : undefined)}</td>
                      <td><span class={`state ${ending(a).kind}`}>{ending(a).word}</span></td>
                      <td class="why">{ending(a).why || <span class="faint">–</span>}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
            {past.data && past.data.pagination.total > past.data.attempts.length && <p class="hint">The newest {past.data.attempts.length} of {past.data.pagination.total.toLocaleString('en')}.</p>}
          </section>
        </div>
        <aside class="facts">
          <section class="card" aria-label="facts">
            <dl>
              <Fact name="In use"><span class="num">{slots.filter((s) => s.container).length} of {slots.length}</span></Fact>
              <Fact name="Pools">{node.resourcePools.join(', ') || 'none'}</Fact>
              <Fact name="Addresses">{node.addresses.join(', ') || '–'}</Fact>
              <Fact name="Joined"><time dateTime={node.registeredTime ?? ''} title={clock(node.registeredTime)}>{ago(node.registeredTime, now)}</time></Fact>
            </dl>
          </section>
        </aside>
      </div>
    </div>
  );
}

// Measured is what the device of a slot measures now.
function Measured({ of: d }: { of: DeviceMeasurement | undefined }) {
  const none = <span class="faint">–</span>;
  const mib = 1024 * 1024;
  return (
    <>
      <td class="right num">{d?.temperatureC != null ? `${d.temperatureC} °C` : none}</td>
      <td class="right num">{d?.utilization != null ? `${d.utilization} %` : none}</td>
      <td class="right num">{d?.memoryUsedMib != null ? `${bytes(d.memoryUsedMib * mib)}${d.memoryTotalMib != null ? ` of ${bytes(d.memoryTotalMib * mib)}` : ''}` : none}</td>
      <td class="right num">{d?.powerWatts != null ? `${Math.round(d.powerWatts)}${d.powerLimitWatts != null ? ` of ${Math.round(d.powerLimitWatts)}` : ''} W` : none}</td>
    </>
  );
}

function linkTo(a: AllocationSummary): string {
  const experiment = a.name.match(/\(Experiment (\d+)\)$/)?.[1];
  return experiment ? `/experiments/${experiment}` : `/tasks/${a.taskId}`;
}
