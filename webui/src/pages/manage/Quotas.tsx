// Quotas of workspaces, projects and users, and how much of them is used.
import { useMemo, useState } from 'preact/hooks';
import { api } from '../../lib/api';
import { clock, plural } from '../../lib/format';
import { useLoad } from '../../lib/load';
import { attempt, manage } from '../../lib/manage';
import { boundedBy, boundOf, levelOf, measureOf, measures, quotas } from '../../lib/quotas';
import { params, setParams } from '../../lib/router';
import { say } from '../../lib/toast';
import { hoursOf } from '../../lib/usage';
import type { Quota } from '../../lib/types';
import { Confirm, Empty, Loading, Problem, type Question } from '../../parts/bits';
import { Dialog, text } from '../../parts/Dialog';
import { sorted, sortOf, Table, type Column } from '../../parts/Table';

const states = { within: ['good', 'within'], 'over soft': ['hold', 'over soft'], full: ['bad', 'full'] } as const;
const usedOf = (q: Quota) => (q.measure === 'slots' ? q.used.toLocaleString('en') : hoursOf(q.used));
const numberOf = (n: number | null) => (n === null ? <span class="faint">–</span> : <span class="num">{n.toLocaleString('en')}</span>);

export function Quotas() {
  const list = useLoad((signal) => quotas.all(signal), []);
  const name = params.value.get('name') ?? '';
  const [editing, setEditing] = useState<Quota | 'new' | null>(null);
  const [question, setQuestion] = useState<Question | null>(null);
  const sort = sortOf({ key: 'of', desc: false });
  const remove = (q: Quota) => setQuestion({
    title: 'Delete this quota?', text: `${boundedBy(q)}: ${measureOf(q).title}${q.resourcePool ? ` in pool ${q.resourcePool}` : ''}. What waits only because of it can start.`, yes: 'Delete', danger: true,
    act: async () => {
      await attempt('Delete the quota', () => quotas.remove(q.id), `Quota of ${boundedBy(q)} deleted`);
      list.reload();
    },
  });
  const columns: Column<Quota>[] = [
    { key: 'of', title: 'Of', width: 'minmax(12rem, 3fr)', narrow: true, sort: (q) => boundedBy(q).toLowerCase(), render: (q) => (q.workspaceId && !q.userId && !q.projectId ? <a class="cut" href={`/workspaces/${q.workspaceId}`} title={boundedBy(q)}>{boundedBy(q)}</a> : <span class="cut" title={boundedBy(q)}>{boundedBy(q)}</span>) },
    { key: 'measure', title: 'Bounds', width: 'minmax(12.5rem, 2fr)', sort: (q) => measures.indexOf(measureOf(q)), render: (q) => <span class="cut" title={q.periodEnd ? `until ${clock(q.periodEnd)}` : ''}>{measureOf(q).title}</span> },
    { key: 'pool', title: 'Pool', width: '7rem', sort: (q) => q.resourcePool, render: (q) => (q.resourcePool ? <span class="cut" title={q.resourcePool}>{q.resourcePool}</span> : <span class="faint">all pools</span>) },
    { key: 'used', title: 'Used', width: '5rem', right: true, narrow: true, sort: (q) => q.used, render: (q) => <span class="num">{usedOf(q)}</span> },
    { key: 'level', title: 'Of the bound', width: 'minmax(6rem, 2fr)', sort: (q) => levelOf(q).used, render: (q) => {
      const l = levelOf(q);
      return <span class={`usage level ${states[l.state][0]}`}><span style={{ width: `${l.used * 100}%` }} />{l.soft !== null && <i style={{ left: `${l.soft * 100}%` }} />}</span>;
    } },
    { key: 'soft', title: 'Soft', width: '5rem', right: true, narrow: true, sort: (q) => q.soft ?? Infinity, render: (q) => numberOf(q.soft) },
    { key: 'hard', title: 'Hard', width: '5rem', right: true, narrow: true, sort: (q) => q.hard ?? Infinity, render: (q) => numberOf(q.hard) },
    { key: 'state', title: 'State', width: '6.5rem', sort: (q) => levelOf(q).state, render: (q) => { const [kind, word] = states[levelOf(q).state]; return <span class={`state ${kind}`}>{word}</span>; } },
    { key: 'counted', title: 'Counted', width: '8rem', hidden: true, sort: (q) => q.measuredTime ?? '', render: (q) => <span class="cut" title={clock(q.measuredTime)}>{q.measuredTime ? clock(q.measuredTime) : <span class="faint">now</span>}</span> },
    { key: 'do', title: ' ', width: '9rem', render: (q) => <span class="row end"><button type="button" class="quiet" aria-label={`change the quota of ${boundedBy(q)}`} onClick={() => setEditing(q)}>Change</button><button type="button" class="quiet" aria-label={`delete the quota of ${boundedBy(q)}`} onClick={() => remove(q)}>Delete</button></span> },
  ];
  const rows = useMemo(() => sorted((list.data ?? []).filter((q) => `${boundedBy(q)} ${q.resourcePool}`.toLowerCase().includes(name.toLowerCase())), columns, sort), [list.data, name, sort.key, sort.desc]);
  return (
    <>
      {list.error !== undefined && <Problem what="Could not load the quotas." error={list.error} retry={list.reload} />}
      <Table<Quota> label="quotas" columns={columns} count={rows.length} row={(i) => rows[i]} id={(q) => String(q.id)} sort={sort}
        tools={
          <>
            <input type="search" aria-label="search by name" placeholder="Search by name" value={name} onInput={(e) => setParams({ name: e.currentTarget.value })} />
            {list.data && <span class="faint small">{plural(list.data.length, 'quota')} that you may see</span>}
            <button type="button" class="main" onClick={() => setEditing('new')}>New quota</button>
          </>
        }
        empty={!list.data ? (list.error ? null : <Loading />) : <Empty title={name ? 'No quota matches.' : 'There is no quota.'}><p>A quota bounds how many slots, processors or how much memory a workspace, a project or a user holds at the same time, or how many slot-hours they use.</p></Empty>} />
      {editing && <Edit of={editing === 'new' ? null : editing} close={() => setEditing(null)} done={list.reload} />}
      <Confirm question={question} close={() => setQuestion(null)} />
    </>
  );
}

function Edit({ of, close, done }: { of: Quota | null; close: () => void; done: () => void }) {
  const workspaces = useLoad((signal) => manage.workspaces(signal), []);
  const users = useLoad((signal) => manage.users(signal), []);
  const pools = useLoad((signal) => api.pools(signal), []);
  const [workspace, setWorkspace] = useState(of?.workspaceId ?? 0);
  const projects = useLoad(async (signal) => (workspace && !of ? manage.projects(workspace, signal) : []), [workspace]);
  const act = async (form: FormData) => {
    const username = text(form, 'user');
    // Somebody may save before the list has come, or after it could not be loaded.
    const user = username && !of ? (users.data ?? (await manage.users())).find((u) => u.username === username) : undefined;
    if (username && !user && !of) throw new Error(`There is no user ${username}.`);
    const [soft, hard] = [boundOf('Soft bound', text(form, 'soft')), boundOf('Hard bound', text(form, 'hard'))];
    if (soft === null && hard === null) throw new Error('Enter a bound. Delete removes a quota.');
    const m = of ? measureOf(of) : measures.find((x) => x.key === text(form, 'measure')) ?? measures[0];
    const { quota } = await quotas.set({
      workspaceId: of ? of.workspaceId : workspace, projectId: of ? of.projectId : Number(text(form, 'project')) || 0, userId: of ? of.userId : user?.id ?? 0,
      resourcePool: of ? of.resourcePool : text(form, 'pool'), measure: m.measure, period: m.period, soft, hard,
    });
    say(`Quota of ${boundedBy(quota)} set`);
    done();
  };
  return (
    <Dialog title={of ? `Quota of ${boundedBy(of)}` : 'New quota'} open yes="Save" close={close} act={act}>
      {of ? <p class="faint small">{measureOf(of).title}{of.resourcePool ? ` in pool ${of.resourcePool}` : ' in all pools'}</p> : (
        <>
          <label>Workspace
            <select name="workspace" value={String(workspace)} onChange={(e) => setWorkspace(Number(e.currentTarget.value))}>
              <option value="0">all workspaces (of a user)</option>
              {(workspaces.data ?? []).filter((w) => !w.archived).map((w) => <option key={w.id} value={w.id}>{w.name}</option>)}
            </select>
          </label>
          <label>Project<select name="project" disabled={!workspace}><option value="0">the whole workspace</option>{(projects.data ?? []).filter((p) => !p.archived).map((p) => <option key={p.id} value={p.id}>{p.name}</option>)}</select></label>
          <label>User<input name="user" list="quota-users" required={!workspace} autocomplete="off" spellcheck={false} placeholder={workspace ? 'everybody together' : 'a username'} /></label>
          <datalist id="quota-users">{(users.data ?? []).filter((u) => u.active).map((u) => <option key={u.id} value={u.username}>{u.displayName}</option>)}</datalist>
          <label>Pool<select name="pool"><option value="">all pools together</option>{(pools.data ?? []).map((p) => <option key={p.name} value={p.name}>{p.name}</option>)}</select></label>
          <label>What it bounds<select name="measure">{measures.map((m) => <option key={m.key} value={m.key}>{m.title}</option>)}</select></label>
        </>
      )}
      <label>Soft bound<input name="soft" inputMode="numeric" autocomplete="off" defaultValue={of?.soft ?? ''} placeholder="none" /></label>
      <label>Hard bound<input name="hard" inputMode="numeric" autocomplete="off" defaultValue={of?.hard ?? ''} placeholder="none" /></label>
      <p class="faint small">Nothing new starts over the hard bound. Over the soft bound of what is held, tasks get only slots that others leave idle, and are preempted for them.</p>
    </Dialog>
  );
}
