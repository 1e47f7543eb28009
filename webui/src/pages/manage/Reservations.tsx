// Reservations of slots for a time, and maintenances of nodes.
import { Fragment } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { api } from '../../lib/api';
import { clock, plural } from '../../lib/format';
import { useLoad } from '../../lib/load';
import { attempt, manage } from '../../lib/manage';
import { endOf, reservations, sentence, whatOf, whose } from '../../lib/reservations';
import { params, setParams } from '../../lib/router';
import { me } from '../../lib/session';
import { say } from '../../lib/toast';
import type { Reservation } from '../../lib/types';
import { Confirm, Empty, Loading, Problem, type Question } from '../../parts/bits';
import { Dialog, list as words, text } from '../../parts/Dialog';
import { sorted, sortOf, Table, type Column } from '../../parts/Table';

export function Reservations() {
  const admin = !!me.value?.admin;
  const list = useLoad((signal) => reservations.all(signal), []);
  const name = params.value.get('name') ?? '';
  const [making, setMaking] = useState(false);
  const [question, setQuestion] = useState<Question | null>(null);
  const sort = sortOf({ key: 'from', desc: false });
  const cancel = (v: Reservation) => setQuestion({
    title: v.active ? 'End this reservation now?' : 'Cancel this reservation?', text: `${sentence(v)}. ${v.active ? 'What runs there continues, and others may use what is free.' : 'Others may use the slots at that time.'}`,
    yes: v.active ? 'End' : 'Cancel the reservation', danger: true,
    act: async () => {
      await attempt('Cancel the reservation', () => reservations.cancel(v.id), `Reservation ${v.id} canceled`);
      list.reload();
    },
  });
  const columns: Column<Reservation>[] = [
    { key: 'pool', title: 'Pool', width: 'minmax(6rem, 1fr)', narrow: true, sort: (v) => v.resourcePool, render: (v) => <a class="cut" href={`/cluster?tab=queue&pool=${encodeURIComponent(v.resourcePool)}`} title={v.resourcePool}>{v.resourcePool}</a> },
    { key: 'what', title: 'Reserved', width: 'minmax(7rem, 2fr)', narrow: true, sort: (v) => v.slots, render: (v) => <span class="cut" title={whatOf(v)}>{whatOf(v)}</span> },
    { key: 'for', title: 'For', width: 'minmax(9rem, 2fr)', narrow: true, sort: (v) => whose(v).toLowerCase(), render: (v) => <span class="cut" title={whose(v)}>{whose(v)}</span> },
    { key: 'from', title: 'From', width: '11rem', sort: (v) => v.startTime, render: (v) => <time class="num" dateTime={v.startTime}>{clock(v.startTime)}</time> },
    { key: 'to', title: 'To', width: '11rem', sort: (v) => v.endTime, render: (v) => <time class="num" dateTime={v.endTime}>{clock(v.endTime)}</time> },
    { key: 'state', title: 'State', width: '6.5rem', sort: (v) => String(v.active), render: (v) => (v.active ? <span class="state good">active</span> : <span class="state hold">coming</span>) },
    { key: 'by', title: 'By', width: '7rem', hidden: true, sort: (v) => v.createdBy, render: (v) => <span class="cut">{v.createdBy}</span> },
    { key: 'note', title: 'Note', width: 'minmax(6rem, 2fr)', render: (v) => <span class="cut" title={v.note}>{v.note}</span> },
    ...(admin ? [{ key: 'do', title: ' ', width: '6rem', render: (v: Reservation) => <span class="row end"><button type="button" class="quiet" aria-label={`cancel reservation ${v.id}`} onClick={() => cancel(v)}>{v.active ? 'End' : 'Cancel'}</button></span> }] : []),
  ];
  const rows = useMemo(() => sorted((list.data ?? []).filter((v) => `${v.resourcePool} ${whatOf(v)} ${whose(v)} ${v.note}`.toLowerCase().includes(name.toLowerCase())), columns, sort), [list.data, name, sort.key, sort.desc]);
  return (
    <>
      {list.error !== undefined && <Problem what="Could not load the reservations." error={list.error} retry={list.reload} />}
      <Table<Reservation> label="reservations" columns={columns} count={rows.length} row={(i) => rows[i]} id={(v) => String(v.id)} sort={sort}
        tools={
          <>
            <input type="search" aria-label="search" placeholder="Search" value={name} onInput={(e) => setParams({ name: e.currentTarget.value })} />
            {list.data && <span class="faint small">{plural(list.data.length, 'reservation')}</span>}
            {admin && <button type="button" class="main" onClick={() => setMaking(true)}>New reservation</button>}
          </>
        }
        empty={!list.data ? (list.error ? null : <Loading />) : <Empty title={name ? 'No reservation matches.' : 'Nothing is reserved.'}><p>A reservation holds slots of a pool for the tasks of a workspace or a user for a time; a maintenance takes nodes out of use.</p></Empty>} />
      {making && <Make close={() => setMaking(false)} done={list.reload} />}
      <Confirm question={question} close={() => setQuestion(null)} />
    </>
  );
}

function Make({ close, done }: { close: () => void; done: () => void }) {
  const pools = useLoad((signal) => api.pools(signal), []);
  const workspaces = useLoad((signal) => manage.workspaces(signal), []);
  const users = useLoad((signal) => manage.users(signal), []);
  const [maintenance, setMaintenance] = useState(false);
  const act = async (form: FormData) => {
    const username = text(form, 'user');
    const user = username ? (users.data ?? (await manage.users())).find((u) => u.username === username) : undefined;
    if (username && !user) throw new Error(`There is no user ${username}.`);
    const begins = text(form, 'from');
    const from = begins ? new Date(begins) : new Date();
    const made = await reservations.make(text(form, 'pool'), {
      ...(maintenance ? { agents: words(form, 'agents') } : { slots: Number(text(form, 'slots')), workspaceId: Number(text(form, 'workspace')) || 0, userId: user?.id ?? 0 }),
      ...(begins ? { startTime: from.toISOString() } : {}), endTime: endOf(from, text(form, 'length')).toISOString(), note: text(form, 'note'),
    });
    say(sentence(made));
    done();
  };
  return (
    // Keys, so that what somebody has entered stays in its field when the others change.
    <Dialog title="New reservation" open yes="Reserve" close={close} act={act}>
      <label key="pool">Pool<select name="pool">{(pools.data ?? []).map((p) => <option key={p.name} value={p.name}>{p.name}</option>)}</select></label>
      <label key="kind" class="choice"><input type="checkbox" checked={maintenance} onChange={(e) => setMaintenance(e.currentTarget.checked)} /> A maintenance: nodes are out of use</label>
      {maintenance ? <label key="nodes">Nodes<input name="agents" required autocomplete="off" spellcheck={false} placeholder="names, separated by commas" /></label> : (
        <Fragment key="slots">
          <label>Slots<input name="slots" inputMode="numeric" required autocomplete="off" /></label>
          <label>Workspace
            <select name="workspace">
              <option value="0">all workspaces (of a user)</option>
              {(workspaces.data ?? []).filter((w) => !w.archived).map((w) => <option key={w.id} value={w.id}>{w.name}</option>)}
            </select>
          </label>
          <label>User<input name="user" list="reservation-users" autocomplete="off" spellcheck={false} placeholder="everybody in the workspace" /></label>
          <datalist id="reservation-users">{(users.data ?? []).filter((u) => u.active).map((u) => <option key={u.id} value={u.username}>{u.displayName}</option>)}</datalist>
        </Fragment>
      )}
      <label key="from">From<input name="from" type="datetime-local" /></label>
      <label key="length">For how long<input name="length" required autocomplete="off" placeholder="4h" /></label>
      <label key="note">Note<input name="note" autocomplete="off" maxLength={1000} /></label>
      <p class="faint small">Without a start it begins now. At its start, tasks of others on its slots are preempted: they store a checkpoint and wait. What cannot be preempted stays until it ends.</p>
    </Dialog>
  );
}
