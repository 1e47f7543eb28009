// Groups of users, and one group with its members and roles.
import { useMemo, useState } from 'preact/hooks';
import { ApiError } from '../../lib/api';
import { plural } from '../../lib/format';
import { useLoad } from '../../lib/load';
import { attempt, manage } from '../../lib/manage';
import { from, holdings, idsOf, type Rights } from '../../lib/rights';
import { go, params, setParams } from '../../lib/router';
import { say } from '../../lib/toast';
import type { GroupSearchResult, User } from '../../lib/types';
import { Confirm, Empty, Loading, Problem, type Question } from '../../parts/bits';
import { Dialog, list, text } from '../../parts/Dialog';
import { sorted, sortOf, Table, type Column } from '../../parts/Table';
import { Holdings } from './Holdings';

export function Groups({ id, rights }: { id?: string; rights: Rights }) {
  return id ? <One key={id} id={Number(id)} rights={rights} /> : <All rights={rights} />;
}

function All({ rights }: { rights: Rights }) {
  const groups = useLoad((signal) => manage.groups(signal), []);
  const users = useLoad((signal) => manage.users(signal), []);
  const name = params.value.get('name') ?? '';
  const [making, setMaking] = useState(false);
  const sort = sortOf({ key: 'name', desc: false });
  const columns: Column<GroupSearchResult>[] = [
    { key: 'name', title: 'Group', width: 'minmax(9rem, 3fr)', narrow: true, sort: (g) => g.group.name.toLowerCase(), render: (g) => <a class="cut" href={`/manage/groups/${g.group.groupId}`} title={g.group.name}>{g.group.name}</a> },
    { key: 'members', title: 'Members', width: '6.5rem', right: true, narrow: true, sort: (g) => g.numMembers, render: (g) => <span class="num">{g.numMembers.toLocaleString('en')}</span> },
    { key: 'origin', title: 'Kept by', width: 'minmax(8rem, 2fr)', sort: (g) => g.group.origin, render: (g) => (g.group.origin ? <span class="cut" title={from(g.group.origin)}>{from(g.group.origin)}</span> : <span class="faint">this cluster</span>) },
    { key: 'id', title: 'ID', width: '4rem', right: true, hidden: true, sort: (g) => g.group.groupId, render: (g) => <span class="num">{g.group.groupId}</span> },
  ];
  const rows = useMemo(() => sorted((groups.data ?? []).filter((g) => g.group.name.toLowerCase().includes(name.toLowerCase())), columns, sort), [groups.data, name, sort.key, sort.desc]);
  const make = async (form: FormData) => {
    const made = await manage.createGroup({ name: text(form, 'name'), addUsers: idsOf(list(form, 'members'), users.data ?? []) });
    say(`Group ${made.name} created`);
    go(`/manage/groups/${made.groupId}`);
  };
  return (
    <>
      {groups.error !== undefined && <Problem what="Could not load the groups." error={groups.error} retry={groups.reload} />}
      <Table<GroupSearchResult> label="groups" columns={columns} count={rows.length} row={(i) => rows[i]} id={(g) => String(g.group.groupId)} open={(g) => go(`/manage/groups/${g.group.groupId}`)} sort={sort}
        tools={
          <>
            <input type="search" aria-label="search by name" placeholder="Search by name" value={name} onInput={(e) => setParams({ name: e.currentTarget.value })} />
            {rights.admin && <button type="button" class="main" onClick={() => setMaking(true)}>New group</button>}
          </>
        }
        empty={!groups.data ? (groups.error ? null : <Loading />) : <Empty title={name ? 'No group matches.' : 'No group yet.'}><p>{rights.admin || rights.assigns === 'everywhere' ? 'All members of a group have the roles that the group has.' : 'You see the groups of which you are a member.'}</p></Empty>} />
      <Dialog title="New group" open={making} yes="Create" close={() => setMaking(false)} act={make}>
        <label>Name<input name="name" required maxLength={200} autocomplete="off" spellcheck={false} /></label>
        <Members label="Members" users={users.data ?? []} />
      </Dialog>
    </>
  );
}

function Members({ label, users }: { label: string; users: readonly User[] }) {
  return (
    <label>{label}
      <input name="members" list="all-users" autocomplete="off" spellcheck={false} placeholder="usernames, with commas between" />
      <datalist id="all-users">{users.filter((u) => u.active).map((u) => <option key={u.id} value={u.username}>{u.displayName}</option>)}</datalist>
    </label>
  );
}

function One({ id, rights }: { id: number; rights: Rights }) {
  const group = useLoad((signal) => manage.group(id, signal), [id]);
  const users = useLoad((signal) => manage.users(signal), []);
  const workspaces = useLoad((signal) => manage.workspaces(signal), []);
  const roles = useLoad(async (signal) => manage.holders((await manage.roles(signal)).map((r) => r.roleId), signal), [id]);
  const [open, setOpen] = useState<'add' | 'rename' | ''>('');
  const [question, setQuestion] = useState<Question | null>(null);
  const sort = sortOf({ key: 'name', desc: false });
  const g = group.data;
  const mine = rights.admin && !!g && !g.origin;
  const remove = (u: User) => setQuestion({
    title: `Remove ${u.username} from ${g!.name}?`, text: 'The user loses the roles that only this group gives.', yes: 'Remove', danger: true,
    act: async () => {
      await attempt(`Remove ${u.username}`, () => manage.changeGroup({ groupId: id, removeUsers: [u.id] }), `${u.username} removed from ${g!.name}`);
      group.reload();
    },
  });
  const columns: Column<User>[] = [
    { key: 'name', title: 'Member', width: 'minmax(8rem, 2fr)', narrow: true, sort: (u) => u.username, render: (u) => <span class="cut" title={u.username}>{u.username}{!u.active && <span class="tag">deactivated</span>}</span> },
    { key: 'display', title: 'Name', width: 'minmax(8rem, 2fr)', sort: (u) => u.displayName.toLowerCase(), render: (u) => <span class="cut" title={u.displayName}>{u.displayName || <span class="faint">–</span>}</span> },
    { key: 'do', title: ' ', width: '6.5rem', narrow: true, render: (u) => <span class="row end">{mine && <button type="button" class="quiet" aria-label={`remove ${u.username}`} onClick={() => remove(u)}>Remove</button>}</span> },
  ];
  const rows = useMemo(() => sorted(g?.users ?? [], columns, sort), [g, sort.key, sort.desc]);
  const has = useMemo(() => holdings(roles.data ?? [], { users: [], groups: g ? [g] : [], workspaces: workspaces.data ?? [] }).filter((h) => h.group === id), [roles.data, workspaces.data, g]);
  if (!g) {
    if (group.error instanceof ApiError && group.error.status === 404) return <Empty title={`There is no group ${Number.isNaN(id) ? '' : id}.`}><p>It may have been deleted, or you may not see it. <a href="/manage/groups">All groups</a></p></Empty>;
    return group.error ? <Problem what="Could not load the group." error={group.error} retry={group.reload} /> : <Loading />;
  }
  const erase = () => setQuestion({
    title: `Delete group ${g.name}?`, text: 'Its members lose the roles that only this group gives.', yes: 'Delete', danger: true,
    act: async () => {
      if (await attempt(`Delete group ${g.name}`, () => manage.deleteGroup(id), `Group ${g.name} deleted`)) go('/manage/groups');
    },
  });
  const add = async (form: FormData) => {
    const ids = idsOf(list(form, 'members'), users.data ?? []);
    if (ids.length === 0) throw new Error('Name at least one user.');
    await manage.changeGroup({ groupId: id, addUsers: ids });
    say(`${plural(ids.length, 'user')} added to ${g.name}`);
    group.reload();
  };
  const rename = async (form: FormData) => {
    await manage.changeGroup({ groupId: id, name: text(form, 'name') });
    group.reload();
  };
  return (
    <div class="stack scroll">
      <div class="head tight">
        <h2>{g.name}</h2>
        <span class="grow" />
        {rights.admin && (
          <div class="row" role="toolbar" aria-label="actions">
            {mine && <button type="button" class="main" onClick={() => setOpen('add')}>Add members</button>}
            {mine && <button type="button" onClick={() => setOpen('rename')}>Rename</button>}
            <button type="button" class="danger" onClick={erase}>Delete</button>
          </div>
        )}
      </div>
      <p class="lead">{g.origin ? `Its name and members come from ${from(g.origin)}, and change there. ` : ''}<a href="/manage/groups">All groups</a></p>
      <Table<User> label="members" columns={columns} count={rows.length} row={(i) => rows[i]} id={(u) => String(u.id)} sort={sort} fit empty={<Empty title="No member yet." />} />
      <section class="stack" aria-label="roles of the group">
        <h2>Its roles</h2>
        {roles.error !== undefined && <Problem what="Could not load the roles." error={roles.error} retry={roles.reload} />}
        <Holdings label="roles of the group" list={has} loaded={!!roles.data} rights={rights} reload={roles.reload} hide="who" prefix="roles." fit empty={<Empty title="It has no role that you may see." />} />
      </section>
      <Dialog title={`Add members to ${g.name}`} open={open === 'add'} yes="Add" close={() => setOpen('')} act={add}><Members label="Users" users={(users.data ?? []).filter((u) => !g.users?.some((m) => m.id === u.id))} /></Dialog>
      <Dialog title={`Rename ${g.name}`} open={open === 'rename'} yes="Rename" close={() => setOpen('')} act={rename}><label>Name<input name="name" required maxLength={200} autocomplete="off" spellcheck={false} defaultValue={g.name} /></label></Dialog>
      <Confirm question={question} close={() => setQuestion(null)} />
    </div>
  );
}
