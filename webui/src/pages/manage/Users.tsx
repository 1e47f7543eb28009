// Users: people, and service accounts, which are programs; for administrators also what they may do.
import { useMemo, useState } from 'preact/hooks';
import { ago, clock, plural } from '../../lib/format';
import { useLoad, useNow } from '../../lib/load';
import { manage } from '../../lib/manage';
import { params, setParams } from '../../lib/router';
import { complain, say } from '../../lib/toast';
import type { User } from '../../lib/types';
import { Confirm, Empty, Loading, Problem, type Question } from '../../parts/bits';
import { Dialog, text } from '../../parts/Dialog';
import { me } from '../../lib/session';
import { sorted, sortOf, Table, type Column } from '../../parts/Table';

export function Users() {
  const now = useNow();
  const admin = !!me.value?.admin;
  const users = useLoad((signal) => manage.users(signal), []);
  const name = params.value.get('name') ?? '';
  const inactive = params.value.get('inactive') === '1';
  const kind = params.value.get('kind') ?? '';
  const [open, setOpen] = useState<'new' | User | null>(null);
  const [secret, setSecret] = useState<User | null>(null);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [question, setQuestion] = useState<Question | null>(null);
  const sort = sortOf({ key: 'name', desc: false });
  const columns: Column<User>[] = [
    { key: 'name', title: 'User', width: 'minmax(8rem, 2fr)', narrow: true, sort: (u) => u.username.toLowerCase(), render: (u) => <span class="cut" title={u.username}>{u.username}{u.id === me.value?.id && <span class="tag">you</span>}{u.serviceAccount && <span class="tag">service account</span>}</span> },
    { key: 'display', title: 'Name', width: 'minmax(8rem, 2fr)', sort: (u) => u.displayName.toLowerCase(), render: (u) => <span class="cut" title={u.displayName}>{u.displayName || <span class="faint">–</span>}</span> },
    { key: 'role', title: 'Role', width: '8.5rem', narrow: true, sort: (u) => `${!u.active}${!u.admin}`, render: (u) => (!u.active ? <span class="state off">deactivated</span> : u.admin ? <span class="state wait">administrator</span> : <span class="state good">user</span>) },
    { key: 'remote', title: 'Signs in', width: '9rem', hidden: true, sort: (u) => String(u.remote), render: (u) => (u.serviceAccount ? 'with tokens' : u.remote ? 'with single sign-on' : 'with a password') },
    { key: 'seen', title: 'Last sign-in', width: '8rem', sort: (u) => u.lastAuthAt ?? '', render: (u) => (u.lastAuthAt ? <time dateTime={u.lastAuthAt} title={clock(u.lastAuthAt)}>{ago(u.lastAuthAt, now)}</time> : <span class="faint">never</span>) },
    { key: 'id', title: 'ID', width: '4rem', right: true, hidden: true, sort: (u) => u.id, render: (u) => <span class="num">{u.id}</span> },
    ...(admin ? [{ key: 'do', title: ' ', width: '11rem', render: (u: User) => (
      <span class="row end">
        <button type="button" class="quiet" aria-label={`edit ${u.username}`} onClick={() => setOpen(u)}>Edit</button>
        {!u.serviceAccount && <button type="button" class="quiet" aria-label={`set the password of ${u.username}`} onClick={() => setSecret(u)}>Password</button>}
      </span>
    ) }] : []),
  ];
  const rows = useMemo(
    () => sorted((users.data ?? []).filter((u) => (inactive || u.active) && (!kind || u.serviceAccount === (kind === 'services')) && `${u.username} ${u.displayName}`.toLowerCase().includes(name.toLowerCase())), columns, sort),
    [users.data, name, inactive, kind, sort.key, sort.desc, now],
  );
  const picked = (users.data ?? []).filter((u) => selected.has(String(u.id)));
  const activate = (on: boolean) => {
    const list = picked.filter((u) => u.active !== on);
    const act = async () => {
      try {
        const wrong = (await manage.activate(list.map((u) => u.id), on)).filter((r) => r.error);
        if (list.length > wrong.length) say(`${plural(list.length - wrong.length, 'user')} ${on ? 'activated' : 'deactivated'}`);
        if (wrong.length) complain(on ? 'Activate' : 'Deactivate', new Error(wrong.map((r) => r.error).slice(0, 3).join('; ')));
      } catch (error) {
        complain(on ? 'Activate' : 'Deactivate', error);
      }
      setSelected(new Set());
      users.reload();
    };
    if (on) void act();
    else setQuestion({ title: `Deactivate ${plural(list.length, 'user')}?`, text: 'They are signed out and cannot sign in; their access tokens stop working. What they run continues.', yes: 'Deactivate', danger: true, act });
  };
  return (
    <>
      {users.error !== undefined && <Problem what="Could not load the users." error={users.error} retry={users.reload} />}
      <Table<User> label="users" columns={columns} count={rows.length} row={(i) => rows[i]} id={(u) => String(u.id)} sort={sort} {...(admin ? { open: (u: User) => setOpen(u) } : {})} {...(admin ? { selected, onSelect: setSelected } : {})}
        tools={selected.size ? (
          <div class="bulk" role="toolbar" aria-label="actions on the selection">
            <strong>{selected.size} selected</strong>
            {picked.some((u) => !u.active) && <button type="button" onClick={() => activate(true)}>Activate</button>}
            {picked.some((u) => u.active) && <button type="button" class="danger" onClick={() => activate(false)}>Deactivate</button>}
            <button type="button" class="quiet" onClick={() => setSelected(new Set())}>Clear</button>
          </div>
        ) : (
          <>
            <input type="search" aria-label="search by name" placeholder="Search by name" value={name} onInput={(e) => setParams({ name: e.currentTarget.value })} />
            <select aria-label="people or programs" value={kind} onChange={(e) => setParams({ kind: e.currentTarget.value })}>
              <option value="">people and service accounts</option><option value="people">people</option><option value="services">service accounts</option>
            </select>
            <label class="choice"><input type="checkbox" checked={inactive} onChange={() => setParams({ inactive: inactive ? '' : 1 })} /> deactivated too</label>
            {admin && <button type="button" class="main" onClick={() => setOpen('new')}>New user</button>}
          </>
        )}
        empty={!users.data ? (users.error ? null : <Loading />) : <Empty title="No user matches." />} />
      {open && <UserDialog of={open === 'new' ? null : open} close={() => setOpen(null)} done={users.reload} secret={(u) => { setOpen(null); setSecret(u); }} />}
      {secret && <PasswordDialog of={secret} close={() => setSecret(null)} />}
      <Confirm question={question} close={() => setQuestion(null)} />
    </>
  );
}

function UserDialog({ of, close, done, secret }: { of: User | null; close: () => void; done: () => void; secret: (u: User) => void }) {
  const self = of?.id === me.value?.id;
  const [program, setProgram] = useState(!!of?.serviceAccount);
  const act = async (form: FormData) => {
    const fields = { username: text(form, 'username'), displayName: text(form, 'display'), admin: form.has('admin'), active: form.has('active') };
    if (of) await manage.changeUser(of.id, self ? { displayName: fields.displayName } : fields);
    else await manage.createUser({ user: { ...fields, active: true, id: 0, agentUserGroup: null, lastAuthAt: null, modifiedAt: null, remote: false, serviceAccount: program }, password: String(form.get('password') ?? ''), isHashed: false });
    say(of ? `User ${of.username} changed` : program ? `Service account ${fields.username} created: it signs in with an access token` : `User ${fields.username} created`);
    done();
  };
  return (
    <Dialog title={of ? `Edit ${of.username}` : 'New user'} open yes={of ? 'Save' : 'Create'} close={close} act={act}>
      <label>Username<input name="username" required={!self} disabled={self} autocomplete="off" spellcheck={false} defaultValue={of?.username ?? ''} /></label>
      <label>Name to show<input name="display" autocomplete="off" defaultValue={of?.displayName ?? ''} /></label>
      {!of && <label class="choice"><input type="checkbox" checked={program} onChange={() => setProgram(!program)} /> is a service account: a program, which signs in with access tokens alone</label>}
      {!of && !program && <label>Password<input name="password" type="password" autocomplete="new-password" /></label>}
      {!program && <label class="choice"><input type="checkbox" name="admin" defaultChecked={!!of?.admin} disabled={self} /> is an administrator</label>}
      {of && <label class="choice"><input type="checkbox" name="active" defaultChecked={of.active} disabled={self} /> may sign in</label>}
      {of && !of.remote && !program && <div><button type="button" onClick={() => secret(of)}>Set the password…</button></div>}
      {of && program && <p class="small"><a href="/manage/tokens">Access tokens</a> sign it in.</p>}
      {self && <p class="faint small">Nobody can take rights from themselves here: ask another administrator.</p>}
    </Dialog>
  );
}

export function PasswordDialog({ of, close }: { of: User; close: () => void }) {
  const self = of.id === me.value?.id;
  const act = async (form: FormData) => {
    const password = String(form.get('password') ?? '');
    if (password !== String(form.get('again') ?? '')) throw new Error('The two passwords differ.');
    const old = String(form.get('old') ?? '');
    await manage.changeUser(of.id, { password, isHashed: false, ...(self && old ? { oldPassword: old } : {}) });
    say(self ? 'Your password is changed; your other sign-ins have ended' : `The password of ${of.username} is set; their sign-ins have ended`);
  };
  return (
    <Dialog title={self ? 'Change your password' : `Set the password of ${of.username}`} open yes="Set the password" close={close} act={act}>
      {self && <label>Password until now<input name="old" type="password" autocomplete="current-password" placeholder="empty if there is none" /></label>}
      <label>New password<input name="password" type="password" required autocomplete="new-password" /></label>
      <label>New password, once more<input name="again" type="password" required autocomplete="new-password" /></label>
    </Dialog>
  );
}
