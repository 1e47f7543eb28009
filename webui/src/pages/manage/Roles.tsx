// Roles: who has which one where, and what each allows; the members of a workspace.
import { useMemo, useState } from 'preact/hooks';
import { useLoad } from '../../lib/load';
import { manage } from '../../lib/manage';
import { holdings, mayAssign, permission, rights as readRights, type Names, type Rights } from '../../lib/rights';
import { params, setParams } from '../../lib/router';
import { me } from '../../lib/session';
import { Empty, Loading, Problem } from '../../parts/bits';
import { Assign, Holdings } from './Holdings';

// Unused says that roles have no effect yet.
export function Unused({ rights }: { rights: Rights }) {
  if (rights.inUse) return null;
  return <p class="said wait">Roles are not in use on this cluster: what you assign takes effect when its configuration says <code>security.authz.type: rbac</code>.</p>;
}

const useNames = (): { names: Names; ready: boolean } => {
  const users = useLoad((signal) => manage.users(signal), []);
  const groups = useLoad((signal) => manage.groups(signal), []);
  const workspaces = useLoad((signal) => manage.workspaces(signal), []);
  return {
    names: useMemo(() => ({ users: users.data ?? [], groups: (groups.data ?? []).map((g) => g.group), workspaces: workspaces.data ?? [] }), [users.data, groups.data, workspaces.data]),
    ready: !!users.data && !!groups.data && !!workspaces.data,
  };
};

export function Roles({ rights }: { rights: Rights }) {
  const p = params.value;
  const { names, ready } = useNames();
  const roles = useLoad(async (signal) => {
    const list = await manage.roles(signal);
    return { list, holders: await manage.holders(list.map((r) => r.roleId), signal) };
  }, []);
  const [assigning, setAssigning] = useState(false);
  const name = (p.get('name') ?? '').toLowerCase(), role = p.get('role') ?? '', where = p.get('where') ?? '';
  const all = useMemo(() => holdings(roles.data?.holders ?? [], names), [roles.data, names]);
  const shown = useMemo(() => all.filter((h) => h.who.toLowerCase().includes(name) && (!role || h.roleName === role) && (!where || String(h.workspace ?? 'cluster') === where)), [all, name, role, where]);
  const may = rights.assigns === 'everywhere' || rights.assigns.size > 0;
  return (
    <div class="stack scroll">
      <Unused rights={rights} />
      {roles.error !== undefined && <Problem what="Could not load the roles." error={roles.error} retry={roles.reload} />}
      <Holdings label="roles" list={shown} loaded={!!roles.data && ready} rights={rights} reload={roles.reload} fit
        tools={
          <>
            <input type="search" aria-label="search by name" placeholder="Search by name" value={p.get('name') ?? ''} onInput={(e) => setParams({ name: e.currentTarget.value })} />
            <select aria-label="role" value={role} onChange={(e) => setParams({ role: e.currentTarget.value })}>
              <option value="">All roles</option>
              {(roles.data?.list ?? []).map((r) => <option key={r.roleId} value={r.name}>{r.name}</option>)}
            </select>
            <select aria-label="where" value={where} onChange={(e) => setParams({ where: e.currentTarget.value })}>
              <option value="">Everywhere</option>
              <option value="cluster">The whole cluster</option>
              {names.workspaces.map((w) => <option key={w.id} value={w.id}>{w.name}</option>)}
            </select>
            {may && <button type="button" class="main" onClick={() => setAssigning(true)}>Assign a role</button>}
          </>
        }
        empty={<Empty title={all.length ? 'No role matches.' : 'Nobody has a role that you may see.'}>{may && !all.length && <p>A role holds in one workspace, or in the whole cluster.</p>}</Empty>} />
      <section class="stack" aria-label="what roles allow">
        <h2>What each role allows</h2>
        {!roles.data && roles.error === undefined && <Loading />}
        {(roles.data?.list ?? []).map((r) => (
          <details key={r.roleId} class="card allows">
            <summary><strong>{r.name}</strong> <span class="faint small">{r.scopeTypeMask?.workspace ? 'in a workspace or in the whole cluster' : 'only in the whole cluster'}</span></summary>
            <p class="small gap-above">{r.permissions.map(permission).join(', ')}</p>
          </details>
        ))}
      </section>
      {assigning && <Assign names={names} roles={roles.data?.list ?? []} rights={rights} close={() => setAssigning(false)} done={roles.reload} />}
    </div>
  );
}

// Members are the users and groups with a role in a workspace.
export function Members({ workspace, archived }: { workspace: number; archived: boolean }) {
  const rights = useLoad((signal) => readRights(!!me.value?.admin, signal), []);
  const members = useLoad((signal) => manage.members(workspace, signal), [workspace]);
  const roles = useLoad((signal) => manage.roles(signal), []);
  const { names } = useNames();
  const [assigning, setAssigning] = useState(false);
  // The members' own names come with the answer; those of others are only for the form.
  const list = useMemo(() => members.data && holdings(members.data.assignments ?? [], {
    users: members.data.usersAssignedDirectly ?? [], groups: members.data.groups ?? [], workspaces: names.workspaces,
  }), [members.data, names]);
  const failed = members.error ?? rights.error;
  if (failed) return <Problem what="Could not load the members." error={failed} retry={() => { members.reload(); rights.reload(); }} />;
  if (!list || !rights.data) return <Loading />;
  const r = archived ? { ...rights.data, assigns: new Set<number>() } : rights.data;
  const may = mayAssign(r, workspace);
  return (
    <div class="stack">
      <Unused rights={r} />
      <Holdings label="members" list={list} loaded rights={r} reload={members.reload} hide="where" fit
        tools={may && <button type="button" class="main" onClick={() => setAssigning(true)}>Assign a role</button>}
        empty={<Empty title="Nobody has a role in this workspace."><p>{r.inUse ? 'Those with a role in the whole cluster have it here too.' : 'All users see it. Only owners and administrators can change it.'}</p></Empty>} />
      {list.some((h) => h.group !== null) && <p class="faint small">All members of a group have its roles. Roles in the whole cluster hold here too.</p>}
      {assigning && <Assign names={names} roles={roles.data ?? []} rights={r} workspace={workspace} close={() => setAssigning(false)} done={members.reload} />}
    </div>
  );
}
