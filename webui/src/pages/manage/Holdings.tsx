// Who has which role where: the table, and the form that assigns one.
import { useMemo, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { attempt, manage } from '../../lib/manage';
import { assignment, idOf, mayAssign, wholeCluster, type Holding, type Names, type Rights } from '../../lib/rights';
import { say } from '../../lib/toast';
import type { Role } from '../../lib/types';
import { Confirm, Loading, type Question } from '../../parts/bits';
import { Dialog, text } from '../../parts/Dialog';
import { sorted, sortOf, Table, type Column } from '../../parts/Table';

interface Props {
  label: string;
  list: readonly Holding[];
  loaded: boolean;
  rights: Rights;
  reload: () => void;
  hide?: 'who' | 'where';
  prefix?: string;
  fit?: boolean;
  tools?: ComponentChildren;
  empty: ComponentChildren;
}

export function Holdings({ label, list, loaded, rights, reload, hide, prefix = '', fit, tools, empty }: Props) {
  const sort = sortOf({ key: hide === 'who' ? 'role' : 'who', desc: false }, `${prefix}sort`);
  const [question, setQuestion] = useState<Question | null>(null);
  const take = (h: Holding) => setQuestion({
    title: `Take ${h.roleName} from ${h.who}?`,
    text: `${h.group === null ? 'The user' : 'All members of the group'} may no longer do in ${h.where} what only this role allows. Tasks that run continue.`,
    yes: 'Take it away', danger: true,
    act: async () => {
      await attempt(`Take ${h.roleName} from ${h.who}`, () => manage.unassign(assignment(h)), `${h.who} is no longer ${h.roleName} in ${h.where}`);
      reload();
    },
  });
  const columns: Column<Holding>[] = [
    ...(hide === 'who' ? [] : [{ key: 'who', title: 'Who', width: 'minmax(9rem, 2fr)', narrow: true, sort: (h: Holding) => h.who.toLowerCase(), render: (h: Holding) => (h.group === null ? <span class="cut" title={h.who}>{h.who}</span> : <span class="row"><a class="cut" href={`/manage/groups/${h.group}`} title={h.who}>{h.who}</a><span class="tag">group</span></span>) }]),
    { key: 'role', title: 'Role', width: 'minmax(8rem, 1fr)', narrow: true, sort: (h) => h.roleName, render: (h) => <span class="cut" title={h.roleName}>{h.roleName}</span> },
    ...(hide === 'where' ? [] : [{ key: 'where', title: 'Where', width: 'minmax(8rem, 2fr)', sort: (h: Holding) => (h.workspace === null ? '' : h.where.toLowerCase()), render: (h: Holding) => (h.workspace === null ? <span class="cut">{h.where}</span> : <a class="cut" href={`/workspaces/${h.workspace}/members`} title={h.where}>{h.where}</a>) }]),
    { key: 'do', title: ' ', width: '7rem', narrow: true, render: (h) => <span class="row end">{mayAssign(rights, h.workspace) && <button type="button" class="quiet" aria-label={`take away ${h.roleName} in ${h.where} from ${h.who}`} onClick={() => take(h)}>Take away</button>}</span> },
  ];
  const rows = useMemo(() => sorted(list, columns, sort), [list, sort.key, sort.desc]);
  return (
    <>
      <Table<Holding> label={label} columns={columns} count={rows.length} row={(i) => rows[i]} id={(h) => h.key} sort={sort} prefix={prefix} {...(fit ? { fit } : {})} tools={tools} empty={loaded ? empty : <Loading />} />
      <Confirm question={question} close={() => setQuestion(null)} />
    </>
  );
}

// Assign gives a role to a user or a group: in one workspace, or where the user chooses.
export function Assign({ names, roles, rights, workspace, close, done }: { names: Names; roles: readonly Role[]; rights: Rights; workspace?: number; close: () => void; done: () => void }) {
  const [kind, setKind] = useState<'user' | 'group'>('user');
  const places = names.workspaces.filter((w) => mayAssign(rights, w.id));
  const [at, setAt] = useState<number | null>(workspace ?? (mayAssign(rights, null) ? null : places[0]?.id ?? null));
  const fitting = roles.filter((r) => at === null || r.scopeTypeMask?.workspace);
  const act = async (form: FormData) => {
    const id = idOf(kind, text(form, 'name'), names);
    const role = Number(text(form, 'role'));
    await manage.assign(assignment({ user: kind === 'user' ? id : null, group: kind === 'group' ? id : null, role, workspace: at }));
    say(`${text(form, 'name')} is ${roles.find((r) => r.roleId === role)?.name ?? 'assigned'} in ${at === null ? wholeCluster : names.workspaces.find((w) => w.id === at)?.name ?? 'the workspace'}`);
    done();
  };
  return (
    <Dialog title="Assign a role" open yes="Assign" close={close} act={act}>
      <label>To<select name="kind" value={kind} onChange={(e) => setKind(e.currentTarget.value as 'user' | 'group')}><option value="user">a user</option><option value="group">a group</option></select></label>
      <label>{kind === 'user' ? 'Username' : 'Name of the group'}
        <input key={kind} name="name" required list="holders" autocomplete="off" spellcheck={false} />
        <datalist id="holders">{kind === 'user' ? names.users.map((u) => <option key={u.id} value={u.username} />) : names.groups.map((g) => <option key={g.groupId} value={g.name} />)}</datalist>
      </label>
      {workspace === undefined && (
        <label>Where
          <select name="where" value={at ?? ''} onChange={(e) => setAt(Number(e.currentTarget.value) || null)}>
            {mayAssign(rights, null) && <option value="">{wholeCluster}</option>}
            {places.map((w) => <option key={w.id} value={w.id}>{w.name}</option>)}
          </select>
        </label>
      )}
      <label>Role<select name="role">{fitting.map((r) => <option key={r.roleId} value={r.roleId} selected={r.name === 'Editor'}>{r.name}</option>)}</select></label>
    </Dialog>
  );
}
