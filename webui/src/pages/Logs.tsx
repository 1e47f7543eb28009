// Searches the logs of all tasks for a text: running tasks first, then those that ended last.
import { useLayoutEffect, useState } from 'preact/hooks';
import { call } from '../lib/api';
import { ago, clock } from '../lib/format';
import { useNow } from '../lib/load';
import { useOlder } from '../lib/older';
import { link, params, setParams } from '../lib/router';
import { searchLogs, type FoundLog } from '../lib/types';
import { Empty, Loading, Problem } from '../parts/bits';
import { spans } from '../parts/LogView';
import { useTitle } from '../parts/Shell';

// logOf is the address of a log, with the search for the text.
const logOf = (f: FoundLog, q: string) => link(f.trialId ? `/trials/${f.trialId}/logs` : `/tasks/${f.taskId}`, { q });

const kinds: Record<string, string> = { TRIAL: 'Trial', NOTEBOOK: 'Notebook', TENSORBOARD: 'TensorBoard', SHELL: 'Shell', COMMAND: 'Command', GENERIC: 'Generic task', CHECKPOINT_GC: 'Deletion of checkpoints' };

function nameOf(f: FoundLog): string {
  if (f.trialId) return `Trial ${f.trialId} of experiment ${f.experimentId}`;
  const kind = kinds[f.taskType.replace('TASK_TYPE_', '')] ?? 'Task';
  return `${kind} ${f.name || f.taskId.slice(0, 8)}`;
}

export function Logs() {
  useTitle('Search in logs');
  const text = params.value.get('q') ?? '';
  const [typed, setTyped] = useState(text);
  useLayoutEffect(() => setTyped(text), [text]); // before anybody can type
  const [back, setBack] = useState<string | null>(null); // how far the search has come
  const now = useNow();
  const found = useOlder<FoundLog>(async (before, signal) => {
    if (!text) return { list: [], next: null };
    const r = await call(searchLogs, { query: { searchText: text, before }, signal });
    setBack(r.searchedTo);
    return { list: r.found, next: r.next };
  }, [text]);
  return (
    <div class="page">
      <header class="head"><h1>Search in logs</h1></header>
      <form role="search" class="row" onSubmit={(e) => { e.preventDefault(); setParams({ q: typed.trim() }); }}>
        <input type="search" class="grow" aria-label="text to search for in all logs" placeholder="A text in the log of any task" maxLength={500} value={typed} onInput={(e) => setTyped(e.currentTarget.value)} />
        <button type="submit" class="primary" disabled={!typed.trim()}>Search</button>
      </form>
      <div class="stack scroll">
        {!text && <Empty title="Search the logs of all tasks."><p>Upper and lower case are the same. The logs of tasks that run come first, then those of tasks that ended last.</p></Empty>}
        {found.list.map((f, i) => <Found key={`${f.taskId} ${i}`} f={f} text={text} now={now} />)}
        {text && found.loaded && found.list.length === 0 && !found.more && <Empty title="No line has this text."><p>All logs that you may see were searched.</p></Empty>}
        {found.error ? <Problem what="Could not search the logs." error={found.error} retry={found.reload} /> : text && !found.loaded && <Loading />}
        {text && found.loaded && found.more && (
          <p class="row lead">
            <span>{back ? <>The logs of running tasks, and of tasks that ended since <time dateTime={back}>{clock(back)}</time>, have been searched.</> : 'A part of the logs of running tasks has been searched.'}</span>
            <button type="button" onClick={found.older}>Search further</button>
          </p>
        )}
        {text && found.loaded && found.list.length > 0 && !found.more && <p class="lead">All logs that you may see were searched.</p>}
      </div>
    </div>
  );
}

function Found({ f, text, now }: { f: FoundLog; text: string; now: number }) {
  return (
    <section class="card foundlog" aria-label={nameOf(f)}>
      <p class="row">
        <a class="cut" href={logOf(f, text)}>{nameOf(f)}</a>
        <span class="grow" />
        <span class="faint small">{f.username}, {f.endTime ? <time dateTime={f.endTime} title={clock(f.endTime)}>ended {ago(f.endTime, now)}</time> : 'runs'}</span>
      </p>
      <div class="lines-found">
        {f.lines.map((l) => (
          <div key={l.id} class="line">
            <span class="at" title={l.timestamp}>{l.timestamp.slice(0, 19).replace('T', ' ')}</span>
            <span class="text">{spans(l.log, text).map((s, i) => <span key={i} class={s.class}>{s.text}</span>)}</span>
          </div>
        ))}
      </div>
      {f.more && <p class="small"><a href={logOf(f, text)}>All lines with this text</a></p>}
    </section>
  );
}
