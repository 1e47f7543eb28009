// One node: its slots with their health, and what runs there.
import { useEffect, useMemo } from 'preact/hooks';
import { api } from '../lib/api';
import { ago, clock, plural } from '../lib/format';
import { follow, often } from '../lib/live';
import { useLoad, useNow } from '../lib/load';
import { bare } from '../lib/states';
import type { AllocationSummary } from '../lib/types';
import { Copy, Empty, Fact, Loading, Problem } from '../parts/bits';
import { useTitle } from '../parts/Shell';

export function NodePage({ params: { id = '' } }: { params: Record<string, string> }) {
  useTitle(`Node ${id}`);
  const now = useNow();
  const loaded = useLoad(async (signal) => {
    const [agents, live] = await Promise.all([api.agents(signal), api.liveTasks(signal)]);
    return { agents, live };
  }, []);
  useEffect(() => {
    const look = often(loaded.reload, 1000);
    let ready = false;
    return follow({
      onReady: () => {
        if (ready) look();
        ready = true;
      },
      onLook: (l) => (l.what.includes('nodes') || l.what.includes('queue')) && look(),
    });
  }, []);
  const users = useMemo(() => {
    const by = new Map<string, AllocationSummary>();
    for (const a of Object.values(loaded.data?.live ?? {})) for (const r of a.resources) by.set(r.containerId, a);
    return by;
  }, [loaded.data]);
  if (!loaded.data) return loaded.error ? <Problem what="Could not load the node." error={loaded.error} retry={loaded.reload} /> : <Loading lines={5} />;
  const node = loaded.data.agents.find((a) => a.id === id);
  if (!node) return <Empty title={`There is no node ${id}.`}><p>It may have left the cluster. <a href="/cluster">The cluster</a></p></Empty>;
  const slots = Object.values(node.slots).sort((a, b) => a.id.localeCompare(b.id, 'en', { numeric: true }));
  const here = new Map<string, { attempt: AllocationSummary; slots: string[] }>();
  for (const c of Object.values(node.containers)) {
    const attempt = users.get(c.id);
    if (attempt) here.set(attempt.allocationId, { attempt, slots: slots.filter((s) => s.container?.id === c.id).map((s) => s.id.split('/').pop() ?? s.id) });
  }
  const ill = slots.filter((s) => s.health);
  return (
    <div class="page">
      <p class="crumbs"><a href="/cluster">Cluster</a> <span aria-hidden="true">/</span> nodes</p>
      <div class="head">
        <h1>{node.id}</h1>
        {node.draining ? <span class="state hold">draining</span> : !node.enabled ? <span class="state bad">takes no tasks</span> : <span class="state good">ready</span>}
      </div>
      {loaded.error !== undefined && <Problem what="Could not load the node again." error={loaded.error} retry={loaded.reload} />}
      {ill.length > 0 && <div class="notice bad" role="alert"><strong>{plural(ill.length, 'slot')} {ill.length === 1 ? 'is' : 'are'} out of use</strong>{ill.map((s) => <p key={s.id}>{s.id}: {s.health}</p>)}</div>}
      <div class="split">
        <div class="stack">
          <section class="card scroll" aria-label="slots" tabIndex={0} role="group">
            <h2>Slots</h2>
            {slots.length === 0 ? <p class="faint">This node has no slots.</p> : (
              <table class="plain">
                <thead><tr><th scope="col">Slot</th><th scope="col">Device</th><th scope="col">Pool</th><th scope="col">State</th><th scope="col">Used by</th></tr></thead>
                <tbody>
                  {slots.map((s) => {
                    const user = s.container ? users.get(s.container.id) : undefined;
                    return (
                      <tr key={s.id}>
                        <th scope="row" class="num">{s.id}</th>
                        <td>{s.device?.brand || bare(s.device?.type ?? '').toLowerCase()}{s.device?.uuid && <> <code title={s.device.uuid}>{s.device.uuid.slice(0, 12)}</code> <Copy text={s.device.uuid} what="device's id" /></>}</td>
                        <td>{s.resourcePool}</td>
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
        </div>
        <aside class="facts">
          <section class="card" aria-label="facts">
            <dl>
              <Fact name="In use"><span class="num">{slots.filter((s) => s.container).length} of {slots.length}</span></Fact>
              <Fact name="Pools">{node.resourcePools.join(', ') || 'none'}</Fact>
              <Fact name="Addresses">{node.addresses.join(', ') || '–'}</Fact>
              <Fact name="Joined"><time dateTime={node.registeredTime ?? ''} title={clock(node.registeredTime)}>{ago(node.registeredTime, now)}</time></Fact>
              {node.version && <Fact name="Nomad">{node.version}</Fact>}
            </dl>
          </section>
        </aside>
      </div>
    </div>
  );
}

function linkTo(a: AllocationSummary): string {
  const experiment = a.name.match(/of experiment (\d+)$/)?.[1];
  return experiment ? `/experiments/${experiment}` : `/tasks/${a.taskId}`;
}
