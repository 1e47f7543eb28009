// Which workspaces may use which pools.
import { useMemo, useState } from 'preact/hooks';
import { api } from '../../lib/api';
import { plural } from '../../lib/format';
import { useLoad } from '../../lib/load';
import { manage } from '../../lib/manage';
import { boundTo } from '../../lib/rights';
import { params, setParams } from '../../lib/router';
import { me } from '../../lib/session';
import { say } from '../../lib/toast';
import type { ResourcePool, Workspace } from '../../lib/types';
import { Empty, Loading, Problem } from '../../parts/bits';
import { Dialog } from '../../parts/Dialog';
import { sorted, sortOf, Table, type Column } from '../../parts/Table';

interface Bound extends ResourcePool {
  bound: number[];
}

const isDefault = (p: ResourcePool) => p.defaultComputePool || p.defaultAuxPool;

function OpenTo({ list }: { list: { id: number; name: string }[] }) {
  const names = list.map((w) => w.name).join(', ');
  if (list.length === 0) return <span class="faint">all workspaces</span>;
  return list.length === 1 ? <a class="cut" href={`/workspaces/${list[0]!.id}/pools`} title={names}>{names}</a> : <span class="cut" title={names}>{names}</span>;
}

export function Pools() {
  const pools = useLoad(async (signal) => Promise.all((await api.pools(signal)).map(async (p): Promise<Bound> => ({ ...p, bound: await manage.boundWorkspaces(p.name, signal) }))), []);
  const workspaces = useLoad((signal) => manage.workspaces(signal), []);
  const name = params.value.get('name') ?? '';
  const [open, setOpen] = useState<Bound | null>(null);
  const sort = sortOf({ key: 'name', desc: false });
  const columns: Column<Bound>[] = [
    { key: 'name', title: 'Pool', width: 'minmax(8rem, 1fr)', narrow: true, sort: (p) => p.name.toLowerCase(), render: (p) => <a class="cut" href={`/cluster?pool=${encodeURIComponent(p.name)}`} title={p.description || p.name}>{p.name}</a> },
    { key: 'slots', title: 'Slots', width: '5rem', right: true, sort: (p) => p.slotsAvailable, render: (p) => <span class="num">{p.slotsAvailable.toLocaleString('en')}</span> },
    { key: 'default', title: 'Default for', width: 'minmax(8rem, 1fr)', sort: (p) => `${!p.defaultComputePool}${!p.defaultAuxPool}`, render: (p) => <span class="cut">{[p.defaultComputePool && 'tasks with slots', p.defaultAuxPool && 'tasks without slots'].filter(Boolean).join(', ') || <span class="faint">–</span>}</span> },
    { key: 'open', title: 'Open to', width: 'minmax(9rem, 3fr)', narrow: true, sort: (p) => p.bound.length, render: (p) => <OpenTo list={boundTo(p.bound, workspaces.data ?? [])} /> },
    { key: 'do', title: ' ', width: '6rem', narrow: true, render: (p) => <span class="row end"><button type="button" class="quiet" aria-label={`change who may use ${p.name}`} onClick={() => setOpen(p)}>Change</button></span> },
  ];
  const rows = useMemo(() => sorted((pools.data ?? []).filter((p) => p.name.toLowerCase().includes(name.toLowerCase())), columns, sort), [pools.data, workspaces.data, name, sort.key, sort.desc]);
  return (
    <>
      {pools.error !== undefined && <Problem what="Could not load the pools." error={pools.error} retry={pools.reload} />}
      <Table<Bound> label="pools" columns={columns} count={rows.length} row={(i) => rows[i]} id={(p) => p.name} sort={sort}
        tools={<input type="search" aria-label="search by name" placeholder="Search by name" value={name} onInput={(e) => setParams({ name: e.currentTarget.value })} />}
        empty={!pools.data ? (pools.error ? null : <Loading />) : <Empty title={name ? 'No pool matches.' : 'There is no pool.'} />} />
      {open && <Bind of={open} workspaces={workspaces.data ?? []} close={() => setOpen(null)} done={pools.reload} />}
    </>
  );
}

function Bind({ of, workspaces, close, done }: { of: Bound; workspaces: readonly Workspace[]; close: () => void; done: () => void }) {
  const [chosen, setChosen] = useState<ReadonlySet<number>>(() => new Set(of.bound));
  const [name, setName] = useState('');
  const list = boundTo([...new Set([...workspaces.filter((w) => !w.archived).map((w) => w.id), ...of.bound])], workspaces);
  const act = async () => {
    await manage.bind(of.name, [...chosen]);
    say(chosen.size ? `Pool ${of.name} is open to ${plural(chosen.size, 'workspace')}` : `Pool ${of.name} is open to all workspaces`);
    done();
  };
  return (
    <Dialog title={`Who may use pool ${of.name}`} open yes="Save" close={close} act={act}>
      {isDefault(of) && <p class="said wait">Tasks that name no pool run here, so it is open to all workspaces. To bind it, make another pool the default in the master's configuration.</p>}
      <p class="faint small">{chosen.size ? `Only ${plural(chosen.size, 'workspace')} may use it. What waits for it elsewhere goes on waiting, and says why; what runs continues.` : 'Without a binding it is open to all workspaces.'}</p>
      <input type="search" aria-label="search workspaces" placeholder="Search workspaces" value={name} onInput={(e) => setName(e.currentTarget.value)} />
      <div class="picks" role="group" aria-label="workspaces">
        {list.filter((w) => w.name.toLowerCase().includes(name.toLowerCase())).map((w) => (
          <label key={w.id} class="choice">
            <input type="checkbox" checked={chosen.has(w.id)} disabled={isDefault(of) && !chosen.has(w.id)} onChange={() => {
              const next = new Set(chosen);
              if (!next.delete(w.id)) next.add(w.id);
              setChosen(next);
            }} /> <span class="cut" title={w.name}>{w.name}</span>
          </label>
        ))}
      </div>
      <div class="row"><button type="button" class="quiet" disabled={chosen.size === 0} onClick={() => setChosen(new Set())}>Open it to all</button></div>
    </Dialog>
  );
}

// WorkspacePools are the pools that a workspace may use, with its defaults.
export function WorkspacePools({ of }: { of: Workspace }) {
  const pools = useLoad((signal) => api.pools(signal), []);
  const may = useLoad((signal) => manage.poolsOf(of.id, signal), [of.id]);
  const sort = sortOf({ key: 'name', desc: false });
  const columns: Column<{ name: string; pool: ResourcePool | undefined }>[] = [
    { key: 'name', title: 'Pool', width: 'minmax(8rem, 2fr)', narrow: true, sort: (p) => p.name.toLowerCase(), render: (p) => <a class="cut" href={`/cluster?pool=${encodeURIComponent(p.name)}`} title={p.name}>{p.name}</a> },
    { key: 'free', title: 'Free slots', width: '8rem', right: true, narrow: true, sort: (p) => (p.pool ? p.pool.slotsAvailable - p.pool.slotsUsed : -1), render: (p) => (p.pool ? <span class="num">{Math.max(0, p.pool.slotsAvailable - p.pool.slotsUsed)} of {p.pool.slotsAvailable}</span> : <span class="faint">–</span>) },
    { key: 'default', title: 'Default here for', width: 'minmax(9rem, 2fr)', narrow: true, render: ({ name, pool: p }) => {
      const slots = of.defaultComputePool ? of.defaultComputePool === name : p?.defaultComputePool;
      const none = of.defaultAuxPool ? of.defaultAuxPool === name : p?.defaultAuxPool;
      return <span class="cut">{[slots && 'tasks with slots', none && 'tasks without slots'].filter(Boolean).join(', ') || <span class="faint">–</span>}</span>;
    } },
  ];
  const rows = useMemo(() => sorted((may.data ?? []).map((name) => ({ name, pool: pools.data?.find((p) => p.name === name) })), columns, sort), [may.data, pools.data, of, sort.key, sort.desc]);
  return (
    <>
      {may.error !== undefined && <Problem what="Could not load the pools." error={may.error} retry={may.reload} />}
      <Table label="pools of the workspace" columns={columns} count={rows.length} row={(i) => rows[i]} id={(p) => p.name} sort={sort} fit
        tools={<span class="faint small">Edit changes the defaults{me.value?.admin ? <>; <a href="/manage/pools">the bindings of pools</a> say who may use which</> : '; administrators say who may use which pool'}.</span>}
        empty={!may.data ? (may.error ? null : <Loading />) : <Empty title="This workspace may use no pool."><p>All pools are bound to other workspaces.</p></Empty>} />
    </>
  );
}
