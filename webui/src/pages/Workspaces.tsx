// Workspaces, and one workspace with its projects.
import { useMemo, useState } from 'preact/hooks';
import { api, ApiError } from '../lib/api';
import { ago, clock, plural } from '../lib/format';
import { lazy } from '../lib/lazy';
import { useLoad, useNow } from '../lib/load';
import { attempt, manage } from '../lib/manage';
import { rights, seesRoles } from '../lib/rights';
import { go, params, setParams } from '../lib/router';
import type { Project, ResourcePool, Workspace } from '../lib/types';
import { Confirm, Empty, Fact, Loading, Problem, Tabs, type Question } from '../parts/bits';
import { Dialog, text } from '../parts/Dialog';
import { may, me } from '../lib/session';
import { useTitle } from '../parts/Shell';
import { sorted, sortOf, Table, type Column } from '../parts/Table';

const going = (x: { state: string }) => (x.state.endsWith('DELETING') ? <span class="tag">being deleted</span> : x.state.endsWith('DELETE_FAILED') ? <span class="tag">not deleted</span> : null);

export function Workspaces() {
  useTitle('Workspaces');
  const all = params.value.get('archived') === '1';
  const name = params.value.get('name') ?? '';
  const [making, setMaking] = useState(false);
  const list = useLoad((signal) => manage.workspaces(signal), []);
  const pools = useLoad((signal) => api.pools(signal), []);
  const sort = sortOf({ key: 'name', desc: false });
  const pin = async (w: Workspace) => {
    await attempt(`${w.pinned ? 'Unpin' : 'Pin'} ${w.name}`, () => manage.pinWorkspace(w.id, !w.pinned), w.pinned ? `${w.name} is no longer pinned` : `${w.name} pinned`);
    list.reload();
  };
  const columns: Column<Workspace>[] = [
    { key: 'pin', title: 'Pin', width: '3.25rem', narrow: true, sort: (w) => (w.pinned ? 0 : 1), render: (w) => <button type="button" class={`quiet star${w.pinned ? ' pinned' : ''}`} aria-pressed={w.pinned} aria-label={`pin ${w.name}`} onClick={() => void pin(w)}>{w.pinned ? '★' : '☆'}</button> },
    { key: 'name', title: 'Name', width: 'minmax(9rem, 3fr)', narrow: true, sort: (w) => w.name.toLowerCase(), render: (w) => <span class="cut"><a href={`/workspaces/${w.id}`} title={w.name}>{w.name}</a>{w.archived && <span class="tag">archived</span>}{going(w)}</span> },
    { key: 'projects', title: 'Projects', width: '6rem', right: true, narrow: true, sort: (w) => w.numProjects, render: (w) => <span class="num">{w.numProjects.toLocaleString('en')}</span> },
    { key: 'experiments', title: 'Experiments', width: '7rem', right: true, sort: (w) => w.numExperiments, render: (w) => <span class="num">{w.numExperiments.toLocaleString('en')}</span> },
    { key: 'owner', title: 'Owner', width: '8rem', sort: (w) => w.username, render: (w) => <span class="cut">{w.username}</span> },
    { key: 'id', title: 'ID', width: '4rem', right: true, hidden: true, sort: (w) => w.id, render: (w) => <span class="num">{w.id}</span> },
  ];
  const rows = useMemo(() => {
    const found = (list.data ?? []).filter((w) => (all || !w.archived) && w.name.toLowerCase().includes(name.toLowerCase()));
    const ordered = sorted(found, columns, sort);
    return sort.key === 'name' ? [...ordered.filter((w) => w.pinned), ...ordered.filter((w) => !w.pinned)] : ordered;
  }, [list.data, all, name, sort.key, sort.desc]);
  return (
    <div class="page full">
      <div class="head">
        <h1>Workspaces</h1>
        <span class="grow" />
        <button type="button" class="main" onClick={() => setMaking(true)}>New workspace</button>
      </div>
      {list.error !== undefined && <Problem what="Could not load the workspaces." error={list.error} retry={list.reload} />}
      <Table<Workspace> label="workspaces" columns={columns} count={rows.length} row={(i) => rows[i]} id={(w) => String(w.id)} open={(w) => go(`/workspaces/${w.id}`)} sort={sort}
        tools={
          <>
            <input type="search" aria-label="search by name" placeholder="Search by name" value={name} onInput={(e) => setParams({ name: e.currentTarget.value })} />
            <label class="choice"><input type="checkbox" checked={all} onChange={() => setParams({ archived: all ? '' : 1 })} /> archived too</label>
          </>
        }
        empty={!list.data ? (list.error ? null : <Loading />) : <Empty title={name ? 'No workspace matches.' : 'No workspace yet.'} />} />
      {making && <WorkspaceDialog pools={pools.data ?? []} close={() => setMaking(false)} done={(id) => go(`/workspaces/${id}`)} />}
    </div>
  );
}

function WorkspaceDialog({ of, pools, close, done }: { of?: Workspace; pools: ResourcePool[]; close: () => void; done: (id: number) => void }) {
  const act = async (form: FormData) => {
    const fields = { name: text(form, 'name'), defaultComputePool: text(form, 'compute'), defaultAuxPool: text(form, 'aux') };
    if (of) await manage.changeWorkspace(of.id, of.immutable ? { ...fields, name: undefined as never } : fields);
    done(of?.id ?? (await manage.createWorkspace(fields)).id);
  };
  const choose = (value: string) => (
    <>
      <option value="">of the cluster</option>
      {value && !pools.some((p) => p.name === value) && <option value={value} selected>{value}</option>}
      {pools.map((p) => <option key={p.name} value={p.name} selected={p.name === value}>{p.name}</option>)}
    </>
  );
  return (
    <Dialog title={of ? `Edit ${of.name}` : 'New workspace'} open yes={of ? 'Save' : 'Create'} close={close} act={act}>
      <label>Name<input name="name" required={!of?.immutable} disabled={!!of?.immutable} autocomplete="off" spellcheck={false} defaultValue={of?.name ?? ''} /></label>
      <label>Pool of experiments, notebooks and shells with slots<select name="compute">{choose(of?.defaultComputePool ?? '')}</select></label>
      <label>Pool of tasks without slots<select name="aux">{choose(of?.defaultAuxPool ?? '')}</select></label>
    </Dialog>
  );
}

const Policies = lazy(() => import('./manage/Policies').then((m) => m.Policies));
const Members = lazy(() => import('./manage/Roles').then((m) => m.Members));
const WorkspacePools = lazy(() => import('./manage/Pools').then((m) => m.WorkspacePools));

export function WorkspacePage({ params: { id: text_ = '', tab = 'projects' } }: { params: Record<string, string> }) {
  const id = Number(text_);
  const now = useNow();
  const workspace = useLoad((signal) => manage.workspace(id, signal), [id]);
  const projects = useLoad((signal) => manage.projects(id, signal), [id]);
  const pools = useLoad((signal) => api.pools(signal), []);
  const roles = useLoad((signal) => rights(!!me.value?.admin, signal), []);
  const [open, setOpen] = useState<'edit' | 'project' | ''>('');
  const [question, setQuestion] = useState<Question | null>(null);
  const all = params.value.get('archived') === '1';
  const sort = sortOf({ key: 'name', desc: false });
  const w = workspace.data;
  useTitle(w ? w.name : `Workspace ${text_}`);
  const columns: Column<Project>[] = [
    { key: 'name', title: 'Project', width: 'minmax(9rem, 2fr)', narrow: true, sort: (p) => p.name.toLowerCase(), render: (p) => <span class="cut"><a href={`/projects/${p.id}`} title={p.name}>{p.name}</a>{p.archived && <span class="tag">archived</span>}{going(p)}</span> },
    { key: 'description', title: 'Description', width: 'minmax(8rem, 3fr)', sort: (p) => p.description, render: (p) => <span class="cut faint" title={p.description}>{p.description}</span> },
    { key: 'experiments', title: 'Experiments', width: '7rem', right: true, narrow: true, sort: (p) => p.numExperiments, render: (p) => <span class="num">{p.numExperiments.toLocaleString('en')}</span> },
    { key: 'active', title: 'Active', width: '5rem', right: true, sort: (p) => p.numActiveExperiments, render: (p) => <span class="num">{p.numActiveExperiments.toLocaleString('en')}</span> },
    { key: 'last', title: 'Last start', width: '7rem', sort: (p) => p.lastExperimentStartedAt ?? '', render: (p) => (p.lastExperimentStartedAt ? <time dateTime={p.lastExperimentStartedAt} title={clock(p.lastExperimentStartedAt)}>{ago(p.lastExperimentStartedAt, now)}</time> : <span class="faint">–</span>) },
    { key: 'owner', title: 'Owner', width: '8rem', sort: (p) => p.username, render: (p) => <span class="cut">{p.username}</span> },
    { key: 'id', title: 'ID', width: '4rem', right: true, hidden: true, sort: (p) => p.id, render: (p) => <span class="num">{p.id}</span> },
  ];
  const rows = useMemo(() => sorted((projects.data ?? []).filter((p) => all || !p.archived || w?.archived), columns, sort), [projects.data, all, w?.archived, sort.key, sort.desc, now]);
  if (!w) {
    if (workspace.error instanceof ApiError && workspace.error.status === 404) return <Empty alone title={`There is no workspace ${text_}.`}><p>It may have been deleted, or you may not see it. <a href="/workspaces">All workspaces</a></p></Empty>;
    return workspace.error ? <Problem alone what={`Could not load workspace ${text_}.`} error={workspace.error} retry={workspace.reload} /> : <Loading />;
  }
  const again = () => {
    workspace.reload();
    projects.reload();
  };
  const remove = () => setQuestion({
    title: `Delete workspace ${w.name}?`, yes: 'Delete', danger: true,
    text: w.numExperiments > 0 ? `It still has ${plural(w.numExperiments, 'experiment')}. A workspace can be deleted when it is empty: move or delete them first.` : 'Its projects and settings are deleted with it.',
    act: async () => {
      if (await attempt(`Delete workspace ${w.name}`, () => manage.deleteWorkspace(w.id), `Workspace ${w.name} deleted`)) go('/workspaces');
      else again();
    },
  });
  const change = async (what: string, act: () => Promise<unknown>, done: string) => {
    await attempt(what, act, done);
    again();
  };
  const changes = may('UPDATE_WORKSPACE', w.id, w.userId);
  return (
    <div class="page">
      <p class="crumbs"><a href="/workspaces">Workspaces</a></p>
      <div class="head">
        <h1>{w.name}</h1>
        {w.archived && <span class="tag">archived</span>}
        {going(w)}
        <span class="grow" />
        <div class="row wrap" role="toolbar" aria-label="actions">
          <button type="button" class="main" disabled={w.archived} onClick={() => setOpen('project')}>New project</button>
          <button type="button" aria-pressed={w.pinned} onClick={() => void change('Pin', () => manage.pinWorkspace(w.id, !w.pinned), w.pinned ? `${w.name} is no longer pinned` : `${w.name} pinned`)}>{w.pinned ? 'Unpin' : 'Pin'}</button>
          {changes && !w.archived && <button type="button" onClick={() => setOpen('edit')}>Edit</button>}
          {changes && !w.immutable && <button type="button" onClick={() => void change(w.archived ? 'Unarchive' : 'Archive', () => manage.archiveWorkspace(w.id, !w.archived), w.archived ? `${w.name} unarchived` : `${w.name} archived`)}>{w.archived ? 'Unarchive' : 'Archive'}</button>}
          {may('DELETE_WORKSPACE', w.id, w.userId) && !w.immutable && <button type="button" class="danger" onClick={remove}>Delete</button>}
        </div>
      </div>
      {w.errorMessage && <p class="said bad">{w.errorMessage}</p>}
      <Tabs at={tab} href={(k) => `/workspaces/${w.id}${k === 'projects' ? '' : `/${k}`}`} items={[{ key: 'projects', title: 'Projects', count: w.numProjects }, ...(roles.data && seesRoles(roles.data) ? [{ key: 'members', title: 'Members' }] : []), { key: 'pools', title: 'Pools' }, { key: 'policies', title: 'Policies' }]} />
      {tab === 'members' ? <Members workspace={w.id} archived={w.archived} /> : tab === 'pools' ? <WorkspacePools of={w} /> : tab === 'policies' ? <Policies workspace={w.id} may={may('MODIFY_WORKSPACE_CONFIG_POLICIES', w.id, w.userId) && !w.archived} /> : <div class="split">
        <div>
          {projects.error !== undefined && <Problem what="Could not load the projects." error={projects.error} retry={projects.reload} />}
          <Table<Project> label="projects" columns={columns} count={rows.length} row={(i) => rows[i]} id={(p) => String(p.id)} open={(p) => go(`/projects/${p.id}`)} sort={sort} fit
            tools={<label class="choice"><input type="checkbox" checked={all} onChange={() => setParams({ archived: all ? '' : 1 })} /> archived too</label>}
            empty={!projects.data ? <Loading /> : <Empty title="No project yet."><p>Projects group the experiments of a workspace.</p></Empty>} />
        </div>
        <aside class="facts">
          <section class="card" aria-label="facts">
            <dl>
              <Fact name="Owner">{w.username}</Fact>
              <Fact name="Projects"><span class="num">{w.numProjects}</span></Fact>
              <Fact name="Experiments"><span class="num">{w.numExperiments}</span></Fact>
              <Fact name="Pool with slots">{w.defaultComputePool || <span class="faint">of the cluster</span>}</Fact>
              <Fact name="Pool without slots">{w.defaultAuxPool || <span class="faint">of the cluster</span>}</Fact>
              <Fact name="Checkpoints go to">{w.checkpointStorageConfig ? String(w.checkpointStorageConfig.type ?? 'its own storage') : <span class="faint">storage of the cluster</span>}</Fact>
            </dl>
          </section>
        </aside>
      </div>}
      {open === 'edit' && <WorkspaceDialog of={w} pools={pools.data ?? []} close={() => setOpen('')} done={again} />}
      {open === 'project' && <ProjectDialog workspace={w.id} close={() => setOpen('')} done={(p) => go(`/projects/${p}`)} />}
      <Confirm question={question} close={() => setQuestion(null)} />
    </div>
  );
}

export function ProjectDialog({ of, workspace, close, done }: { of?: Project; workspace: number; close: () => void; done: (id: number) => void }) {
  const act = async (form: FormData) => {
    const key = text(form, 'key');
    const fields = { name: text(form, 'name'), description: text(form, 'description'), ...(key ? { key } : {}) };
    if (of) await manage.changeProject(of.id, fields);
    done(of?.id ?? (await manage.createProject({ ...fields, workspaceId: workspace })).id);
  };
  return (
    <Dialog title={of ? `Edit ${of.name}` : 'New project'} open yes={of ? 'Save' : 'Create'} close={close} act={act}>
      <label>Name<input name="name" required autocomplete="off" spellcheck={false} defaultValue={of?.name ?? ''} /></label>
      <label>Description<input name="description" autocomplete="off" defaultValue={of?.description ?? ''} /></label>
      <label>Key<input name="key" class="mono" maxLength={5} autocomplete="off" spellcheck={false} defaultValue={of?.key ?? ''} placeholder="made from the name" /></label>
    </Dialog>
  );
}
