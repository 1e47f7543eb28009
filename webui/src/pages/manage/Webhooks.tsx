// Webhooks: the addresses to which the master sends events, and the events that it sent.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ago, clock } from '../../lib/format';
import { useLoad, useNow } from '../../lib/load';
import { attempt, manage, maxDeliveries } from '../../lib/manage';
import { joined } from '../../lib/older';
import { go } from '../../lib/router';
import { complain } from '../../lib/toast';
import { said, states, triggersOf } from '../../lib/triggers';
import type { Webhook, WebhookDelivery } from '../../lib/types';
import { Confirm, Empty, Loading, Problem, type Question } from '../../parts/bits';
import { Dialog, text } from '../../parts/Dialog';
import { may, me } from '../../lib/session';
import { sorted, sortOf, Table, type Column } from '../../parts/Table';

export function Webhooks({ id }: { id?: string }) {
  return id ? <Deliveries key={id} id={Number(id)} /> : <List />;
}

function List() {
  const webhooks = useLoad((signal) => manage.webhooks(signal), []);
  const workspaces = useLoad((signal) => manage.workspaces(signal), []);
  const [making, setMaking] = useState(false);
  const sort = sortOf({ key: 'name', desc: false });
  const nameOf = (id: number) => (id ? workspaces.data?.find((w) => w.id === id)?.name ?? String(id) : 'all workspaces');
  const columns: Column<Webhook>[] = [
    { key: 'name', title: 'Name', width: 'minmax(7rem, 1fr)', narrow: true, sort: (w) => w.name, render: (w) => <span class="cut"><a title={w.name} href={`/manage/webhooks/${w.id}`}>{w.name}</a>{w.off && <span class="tag" title="imported: it gets no events until its receiver has accepted a test event">off</span>}</span> },
    { key: 'url', title: 'Address', width: 'minmax(9rem, 2fr)', sort: (w) => w.url, render: (w) => <code class="cut" title={w.url}>{w.url}</code> },
    { key: 'when', title: 'When', width: 'minmax(9rem, 2fr)', narrow: true, render: (w) => <span class="cut" title={w.triggers.map(said).join(', ')}>{w.triggers.map(said).join(', ')}</span> },
    { key: 'of', title: 'Workspace', width: 'minmax(7rem, 1fr)', sort: (w) => nameOf(w.workspaceId), render: (w) => <span class="cut" title={nameOf(w.workspaceId)}>{nameOf(w.workspaceId)}{w.mode.endsWith('SPECIFIC') && <span class="tag" title="only experiments whose configuration names this webhook">if named</span>}</span> },
    { key: 'form', title: 'Format', width: '5.5rem', render: (w) => (w.webhookType.endsWith('SLACK') ? 'Slack' : 'JSON') },
  ];
  const rows = useMemo(() => sorted(webhooks.data ?? [], columns, sort), [webhooks.data, workspaces.data, sort.key, sort.desc]);
  const mine = (workspaces.data ?? []).filter((w) => !w.archived && may('EDIT_WEBHOOKS', w.id, w.userId));
  const make = async (form: FormData) => {
    const made = await manage.createWebhook({
      id: 0, off: false, name: text(form, 'name'), url: text(form, 'url'), workspaceId: Number(text(form, 'workspace')),
      webhookType: `WEBHOOK_TYPE_${text(form, 'type')}`, mode: form.has('specific') ? 'WEBHOOK_MODE_SPECIFIC' : 'WEBHOOK_MODE_WORKSPACE',
      triggers: triggersOf({ states: form.getAll('state').map(String), pattern: text(form, 'pattern'), metric: text(form, 'metric'), custom: form.has('custom') }),
    });
    go(`/manage/webhooks/${made.id}`);
  };
  return (
    <>
      {webhooks.error !== undefined && <Problem what="Could not load the webhooks." error={webhooks.error} retry={webhooks.reload} />}
      <Table<Webhook> label="webhooks" columns={columns} count={rows.length} row={(i) => rows[i]} id={(w) => String(w.id)} open={(w) => go(`/manage/webhooks/${w.id}`)} sort={sort}
        tools={mine.length > 0 || me.value?.admin ? <button type="button" class="main" onClick={() => setMaking(true)}>New webhook</button>
          : <span class="faint small">The administrators of a workspace, and those of the cluster, create webhooks.</span>}
        empty={!webhooks.data ? (webhooks.error ? null : <Loading />) : <Empty title="No webhook yet."><p>A webhook sends an event to an address, when an experiment ends for example.</p></Empty>} />
      <Dialog title="New webhook" open={making} yes="Create" close={() => setMaking(false)} act={make}>
        <label>Address<input name="url" type="url" required autocomplete="off" spellcheck={false} placeholder="https://example.com/hook" /></label>
        <label>Name<input name="name" autocomplete="off" spellcheck={false} placeholder="optional" /></label>
        <div class="fields">
          <label>Workspace<select name="workspace">{me.value?.admin && <option value="0">all workspaces</option>}{mine.map((w) => <option key={w.id} value={w.id}>{w.name}</option>)}</select></label>
          <label>Format<select name="type"><option value="DEFAULT">JSON</option><option value="SLACK">Slack</option></select></label>
        </div>
        <fieldset class="files">
          <legend>When an experiment is</legend>
          <div class="row wrap">{states.map((s) => <label key={s} class="choice"><input type="checkbox" name="state" value={s} defaultChecked={s === 'COMPLETED' || s === 'ERROR'} /> {s.toLowerCase()}</label>)}</div>
        </fieldset>
        <label>When a line of a log matches<input name="pattern" class="mono" autocomplete="off" spellcheck={false} placeholder="CUDA out of memory" /></label>
        <label>When a metric passes<input name="metric" class="mono" autocomplete="off" spellcheck={false} placeholder="accuracy > 0.9" /></label>
        <label class="choice"><input type="checkbox" name="specific" /> only experiments whose configuration names it</label>
        <label class="choice"><input type="checkbox" name="custom" /> when such an experiment's program calls it</label>
      </Dialog>
    </>
  );
}

const kinds: Record<string, string> = { DELIVERED: 'good', FAILED: 'bad', WAITING: 'wait', DROPPED: 'off' };
const reloadMillis = 3000;

function Deliveries({ id }: { id: number }) {
  const now = useNow();
  const webhooks = useLoad((signal) => manage.webhooks(signal), []);
  const deliveries = useLoad((signal) => manage.deliveries(id, '', signal), [id]);
  const [all, setAll] = useState<WebhookDelivery[]>([]);
  const [more, setMore] = useState(true);
  const [chosen, setChosen] = useState('');
  const [editing, setEditing] = useState(false);
  const [question, setQuestion] = useState<Question | null>(null);
  const sort = sortOf({ key: 'created', desc: true });
  const w = webhooks.data?.find((x) => x.id === id);
  const first = deliveries.data ?? [];
  useEffect(() => setAll((known) => joined(first, known)), [deliveries.data]);
  const waits = first.some((d) => d.state === 'WAITING'); // older ones are not loaded again
  useEffect(() => {
    if (!waits) return;
    const timer = setInterval(deliveries.reload, reloadMillis);
    return () => clearInterval(timer);
  }, [waits]);
  const redeliver = async (d: WebhookDelivery) => {
    await attempt('Send again', () => manage.redeliver(id, d.id), 'The event will be sent again');
    deliveries.reload();
  };
  const columns: Column<WebhookDelivery>[] = [
    { key: 'state', title: 'State', width: '7.5rem', narrow: true, sort: (d) => d.state, render: (d) => <span class={`state ${kinds[d.state] ?? 'off'}`}>{d.state.toLowerCase()}</span> },
    { key: 'event', title: 'Event', width: 'minmax(8rem, 1fr)', narrow: true, sort: (d) => d.eventType, render: (d) => <button type="button" class="quiet cut as-link" aria-expanded={chosen === d.id} onClick={() => setChosen(chosen === d.id ? '' : d.id)}>{d.eventType.toLowerCase().replaceAll('_', ' ')}</button> },
    { key: 'tries', title: 'Tries', width: '4.5rem', right: true, sort: (d) => d.tries, render: (d) => <span class="num">{d.tries}</span> },
    { key: 'status', title: 'Status', width: '5rem', right: true, sort: (d) => d.status, render: (d) => <span class="num">{d.status || '–'}</span> },
    { key: 'error', title: 'What was wrong', width: 'minmax(8rem, 3fr)', render: (d) => <span class="cut faint" title={d.error}>{d.error}</span> },
    { key: 'created', title: 'Time of event', width: '7rem', sort: (d) => d.createdTime, render: (d) => <time dateTime={d.createdTime} title={clock(d.createdTime)}>{ago(d.createdTime, now)}</time> },
    { key: 'do', title: ' ', width: '7rem', narrow: true, render: (d) => <span class="row end">{d.state !== 'WAITING' && <button type="button" class="quiet" aria-label={`send event ${d.id} again`} onClick={() => void redeliver(d)}>Send again</button>}</span> },
  ];
  const rows = sorted(all, columns, sort);
  if (!webhooks.data) return webhooks.error ? <Problem what="Could not load the webhook." error={webhooks.error} retry={webhooks.reload} /> : <Loading />;
  if (!w) return <Empty title={`There is no webhook ${id}.`}><p><a href="/manage/webhooks">All webhooks</a></p></Empty>;
  const event = all.find((d) => d.id === chosen);
  const remove = () => setQuestion({
    title: `Delete webhook ${w.name}?`, text: 'Events that wait for it are not sent.', yes: 'Delete', danger: true,
    act: async () => {
      if (await attempt(`Delete webhook ${w.name}`, () => manage.deleteWebhook(id), `Webhook ${w.name} deleted`)) go('/manage/webhooks');
    },
  });
  const test = async () => {
    if (await attempt('Test', () => manage.testWebhook(id), 'The test event was received')) webhooks.reload();
  };
  const loadOlder = async () => {
    try {
      const list = await manage.deliveries(id, all.at(-1)?.id ?? '');
      setMore(list.length >= maxDeliveries);
      setAll((known) => joined(known, list));
    } catch (error) {
      complain('Load older events', error);
    }
  };
  return (
    <div class="stack scroll">
      <div class="head tight">
        <h2>{w.name}</h2>
        <code class="cut" title={w.url}>{w.url}</code>
        <span class="grow" />
        <div class="row" role="toolbar" aria-label="actions">
          <button type="button" class="main" onClick={() => void test()}>Test</button>
          <button type="button" onClick={() => setEditing(true)}>Edit</button>
          <button type="button" class="danger" onClick={remove}>Delete</button>
        </div>
      </div>
      {w.off && <p class="lead">This webhook was imported and is off: it gets no events until its receiver has accepted a test event.</p>}
      <p class="lead">Fires when {w.triggers.map(said).join(', or ')}. <a href="/manage/webhooks">All webhooks</a></p>
      {deliveries.error !== undefined && <Problem what="Could not load the events." error={deliveries.error} retry={deliveries.reload} />}
      <Table<WebhookDelivery> label="events" columns={columns} count={rows.length} row={(i) => rows[i]} id={(d) => d.id} sort={sort} fit
        tools={more && first.length >= maxDeliveries && <button type="button" onClick={() => void loadOlder()}>Load older events</button>}
        empty={!deliveries.data ? (deliveries.error ? null : <Loading />) : <Empty title="No event yet." />} />
      {event && <section class="card" aria-label="the event"><h2>Event {event.eventId}</h2><pre class="yaml small" tabIndex={0}>{JSON.stringify(event.event, null, 2)}</pre></section>}
      <Dialog title={`Edit ${w.name}`} open={editing} yes="Save" close={() => setEditing(false)} act={async (form) => { await manage.changeWebhook(id, text(form, 'url')); webhooks.reload(); }}>
        <label>Address<input name="url" type="url" required autocomplete="off" spellcheck={false} defaultValue={w.url} /></label>
      </Dialog>
      <Confirm question={question} close={() => setQuestion(null)} />
    </div>
  );
}
