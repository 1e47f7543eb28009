// The audit trail: who did what, to which object, from where, and how it ended.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { asked, entries, entry, exported, kinds, lines, local, maxExported, outcome, pageOf, utc, verbs } from '../../lib/audit';
import { download } from '../../lib/export';
import { ago, clock } from '../../lib/format';
import { useLoad, useNow } from '../../lib/load';
import { useOlder } from '../../lib/older';
import { params, setParams } from '../../lib/router';
import { complain, say } from '../../lib/toast';
import type { AuditEntry } from '../../lib/types';
import { Empty, Fact, Loading, Problem } from '../../parts/bits';
import { Table, type Column } from '../../parts/Table';

const entryLink = (id: string) => {
  const p = new URLSearchParams(params.value);
  p.set('entry', id);
  return `/manage/audit?${p}`;
};

/** A text of the filter. The page is drawn again each second, which must not undo what somebody is typing. */
function Field({ title, short, value, set }: { title: string; short?: string; value: string; set: (text: string) => void }) {
  const [text, setText] = useState(value);
  useLayoutEffect(() => setText(value), [value]);
  return (
    <input class="find" aria-label={title} placeholder={short ?? title} autocomplete="off" spellcheck={false} value={text}
      onInput={(e) => setText(e.currentTarget.value)} onChange={(e) => set(e.currentTarget.value.trim())} />
  );
}

export function Audit() {
  const now = useNow();
  const p = params.value;
  const query = asked(p);
  const filtered = Object.keys(query).length > 0;
  const trail = useOlder(async (before, signal) => {
    const { entries: list, next } = await entries(query, before, signal);
    return { list, next };
  }, [query]);
  const [writing, setWriting] = useState<number | null>(null);
  const count = trail.list.length + (trail.more ? 1 : 0);
  const size = useRef(0);
  size.current = trail.list.length;
  const seen = useCallback((_first: number, last: number) => {
    if (last > size.current) trail.older();
  }, [trail.older, trail.list.length]);
  const columns: Column<AuditEntry>[] = [
    { key: 'time', title: 'When', width: '5rem', narrow: true, render: (e) => <a class="num" href={entryLink(e.id)} title={`${clock(e.time)}, entry ${e.id}`}>{ago(e.time, now)}</a> },
    { key: 'user', title: 'Who', width: 'minmax(4.5rem, 1fr)', narrow: true, render: (e) => (e.username ? <span class="cut" title={e.username}>{e.username}</span> : <span class="faint">nobody</span>) },
    { key: 'verb', title: 'Did', width: '5.25rem', narrow: true, render: (e) => e.verb },
    { key: 'object', title: 'With', width: 'minmax(9rem, 2fr)', render: (e) => <What e={e} /> },
    { key: 'result', title: 'Result', width: 'minmax(6.75rem, 8.5rem)', narrow: true, render: (e) => <span title={e.error ?? ''}><Result e={e} />{e.times > 1 && <span class="tag">{e.times} ×</span>}</span> },
    { key: 'error', title: 'What was wrong', width: 'minmax(8rem, 2fr)', render: (e) => <span class="cut faint" title={e.error}>{e.error}</span> },
    { key: 'address', title: 'From', width: '8.5rem', render: (e) => <span class="cut num" title={e.address}>{e.address}</span> },
    { key: 'credential', title: 'Credential', width: '8.5rem', hidden: true, render: (e) => <span class="cut">{e.credential}</span> },
    { key: 'call', title: 'Call', width: 'minmax(10rem, 2fr)', hidden: true, render: (e) => <code class="cut">{e.method} {e.path}</code> },
    { key: 'workspace', title: 'Workspace', width: '6rem', hidden: true, right: true, render: (e) => (e.workspaceId ? <a href={`/workspaces/${e.workspaceId}`}>{e.workspaceId}</a> : <span class="faint">–</span>) },
    { key: 'id', title: 'ID', width: '6rem', hidden: true, right: true, render: (e) => <span class="num">{e.id}</span> },
  ];
  const write = async () => {
    setWriting(0);
    try {
      const { list, cut } = await exported(query, setWriting);
      if (cut) say(`The newest ${maxExported.toLocaleString('en')} entries are exported; det audit export has no limit`);
      download('audit.jsonl', lines(list), 'application/jsonl');
    } catch (error) {
      complain('Export', error);
    } finally {
      setWriting(null);
    }
  };
  const choose = (name: string, title: string, all: string, values: readonly string[]) => {
    const at = p.get(name) ?? '';
    return (
      <select aria-label={title} value={at} onChange={(e) => setParams({ [name]: e.currentTarget.value })}>
        <option value="">{all}</option>
        {at && !values.includes(at) && <option value={at}>{at}</option>}
        {values.map((v) => <option key={v} value={v}>{v}</option>)}
      </select>
    );
  };
  const field = (name: string, title: string, short?: string) => <Field title={title} {...(short ? { short } : {})} value={p.get(name) ?? ''} set={(text) => setParams({ [name]: text })} />;
  const time = (name: 'since' | 'until', title: string) => (
    <label class="choice">{title} <input type="datetime-local" value={local(p.get(name))} onChange={(e) => setParams({ [name]: utc(e.currentTarget.value) })} /></label>
  );
  return (
    <>
      {trail.error !== undefined && <Problem what={trail.loaded ? 'Could not load older entries.' : 'Could not load the audit trail.'} error={trail.error} retry={trail.reload} />}
      <Table<AuditEntry> label="audit trail" columns={columns} count={count} row={(i) => trail.list[i]} onRange={seen} id={(e) => e.id} open={(e) => setParams({ entry: e.id })} sort={{ key: '', desc: false }}
        tools={
          <>
            {field('username', 'Username')}
            {choose('verb', 'verb', 'All verbs', verbs)}
            {choose('kind', 'kind of object', 'All objects', kinds)}
            {field('object', 'Id or name of the object', 'Id or name')}
            <span class="row wrap">{time('since', 'From')}{time('until', 'Until')}</span>
            <label class="choice"><input type="checkbox" checked={!!p.get('failed')} onChange={(e) => setParams({ failed: e.currentTarget.checked ? 1 : '' })} /> only what failed</label>
            {filtered && <button type="button" class="quiet" onClick={() => setParams({ username: '', verb: '', kind: '', object: '', since: '', until: '', failed: '' })}>Show all</button>}
            <button type="button" disabled={writing !== null} onClick={() => void write()}>{writing === null ? 'Export as JSON lines' : `Exporting, ${writing.toLocaleString('en')} entries…`}</button>
          </>
        }
        empty={!trail.loaded ? (trail.error ? null : <Loading />) : <Empty title={filtered ? 'No entry matches.' : 'No entry yet.'}>{filtered && <p>Usernames and ids match as a whole.</p>}</Empty>} />
      {p.get('entry') && <Entry key={p.get('entry')} id={p.get('entry')!} have={trail.list} close={() => setParams({ entry: '' })} />}
    </>
  );
}

function Result({ e }: { e: AuditEntry }) {
  const { kind, word } = outcome(e);
  return <span class={`state ${kind}`}>{word}</span>;
}

const checked = (e: AuditEntry) => e.names?.preview === true || e.names?.validateOnly === true || e.names?.validate_only === true;

function What({ e }: { e: AuditEntry }) {
  const to = pageOf(e);
  const name = `${e.kind}${e.object && e.object !== '0' ? ` ${e.object}` : ''}${checked(e) ? ', only checked' : ''}`;
  return <span class="cut" title={name}>{to ? <a href={to}>{name}</a> : name}</span>;
}

// Entry shows everything that the trail has about one call. The page's address contains the entry's id, so
// users can send each other the address.
function Entry({ id, have, close }: { id: string; have: readonly AuditEntry[]; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const here = have.find((e) => e.id === id);
  const loaded = useLoad((signal) => (here ? Promise.resolve(here) : entry(id, signal)), [id]);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const e = loaded.data;
  return (
    <dialog ref={dialog} class="confirm wide-dialog" aria-labelledby="entry-title" onClose={close}>
      <h2 id="entry-title">Entry {id}</h2>
      {loaded.error !== undefined && <Problem what="Could not load the entry." error={loaded.error} retry={loaded.reload} />}
      {e === undefined && loaded.error === undefined && <Loading />}
      {e === null && <p>There is no such entry. Old ones are deleted after a time.</p>}
      {e && (
        <>
          <dl class="gap-above">
            <Fact name="When"><span class="num">{clock(e.time)}</span></Fact>
            {e.times > 1 && <Fact name="Repeated"><span class="num">{e.times} times, until {clock(e.lastTime)}</span></Fact>}
            <Fact name="Who">{e.username || 'nobody signed in'}</Fact>
            <Fact name="Credential">{e.credential}</Fact>
            <Fact name="From"><span class="num">{e.address}</span></Fact>
            <Fact name="Did">{e.verb} <What e={e} /></Fact>
            <Fact name="Call"><code>{e.method} {e.path}</code></Fact>
            {e.workspaceId !== null && <Fact name="Workspace"><a href={`/workspaces/${e.workspaceId}`}>{e.workspaceId}</a></Fact>}
            <Fact name="Result"><Result e={e} /> {e.status === null ? 'the master ended before the call did' : <span class="num">{e.status}</span>}</Fact>
          </dl>
          {e.error && <p class="said bad gap-above">{e.error}</p>}
          {e.names && Object.keys(e.names).length > 0 && <pre class="yaml small pad-yaml gap-above" tabIndex={0} aria-label="what the call names">{JSON.stringify(e.names, null, 2)}</pre>}
        </>
      )}
      <div class="row end gap-above"><button type="button" onClick={() => dialog.current?.close()}>Close</button></div>
    </dialog>
  );
}
