// Templates: configurations that others are laid over.
import { useMemo, useState } from 'preact/hooks';
import { read, write } from '../../lib/draft';
import { useLoad } from '../../lib/load';
import { attempt, manage } from '../../lib/manage';
import { params, setParams } from '../../lib/router';
import { say, words } from '../../lib/toast';
import type { Template, Workspace } from '../../lib/types';
import { Confirm, Copy, Empty, Loading, Problem, type Question } from '../../parts/bits';
import { Editor } from '../../parts/Editor';
import { sorted, sortOf, Table, type Column } from '../../parts/Table';

const beginning = '# what experiments and tasks get, unless they say otherwise\nresources:\n  slots_per_trial: 1\n';

export function Templates() {
  const templates = useLoad((signal) => manage.templates(signal), []);
  const workspaces = useLoad((signal) => manage.workspaces(signal), []);
  const name = params.value.get('name') ?? '';
  const editing = params.value.get('edit');
  const [question, setQuestion] = useState<Question | null>(null);
  const sort = sortOf({ key: 'name', desc: false });
  const nameOf = (id: number) => workspaces.data?.find((w) => w.id === id)?.name ?? '';
  const remove = (t: Template) => setQuestion({
    title: `Delete template ${t.name}?`, text: 'Experiments and tasks that were made with it stay as they are.', yes: 'Delete', danger: true,
    act: async () => {
      await attempt(`Delete template ${t.name}`, () => manage.deleteTemplate(t.name), `Template ${t.name} deleted`);
      templates.reload();
    },
  });
  const columns: Column<Template>[] = [
    { key: 'name', title: 'Name', width: 'minmax(9rem, 2fr)', narrow: true, sort: (t) => t.name.toLowerCase(), render: (t) => <button type="button" class="quiet cut as-link" title={t.name} onClick={() => setParams({ edit: t.name })}>{t.name}</button> },
    { key: 'workspace', title: 'Workspace', width: 'minmax(7rem, 1fr)', sort: (t) => nameOf(t.workspaceId), render: (t) => <span class="cut" title={nameOf(t.workspaceId)}>{nameOf(t.workspaceId)}</span> },
    { key: 'sets', title: 'Sets', width: 'minmax(8rem, 3fr)', render: (t) => <code class="cut">{Object.keys(t.config).join(', ')}</code> },
    { key: 'do', title: ' ', width: '9rem', narrow: true, render: (t) => (
      <span class="row end">
        <a class="button quiet" href={`/launch/notebooks?template=${encodeURIComponent(t.name)}`} aria-label={`use ${t.name} for a task`}>Use</a>
        <button type="button" class="quiet" aria-label={`delete ${t.name}`} onClick={() => remove(t)}>Delete</button>
      </span>
    ) },
  ];
  const rows = useMemo(() => sorted((templates.data ?? []).filter((t) => t.name.toLowerCase().includes(name.toLowerCase())), columns, sort), [templates.data, workspaces.data, name, sort.key, sort.desc]);
  const of = editing === null ? undefined : templates.data?.find((t) => t.name === editing);
  if (editing !== null && templates.data) {
    if (editing && !of) return <Empty title={`There is no template ${editing}.`}><button type="button" onClick={() => setParams({ edit: undefined })}>All templates</button></Empty>;
    return <Edit key={editing} of={of} workspaces={workspaces.data ?? []} close={() => setParams({ edit: undefined })} saved={templates.reload} />;
  }
  return (
    <>
      {templates.error !== undefined && <Problem what="Could not load the templates." error={templates.error} retry={templates.reload} />}
      <Table<Template> label="templates" columns={columns} count={rows.length} row={(i) => rows[i]} id={(t) => t.name} open={(t) => setParams({ edit: t.name })} sort={sort}
        tools={
          <>
            <input type="search" aria-label="search by name" placeholder="Search by name" value={name} onInput={(e) => setParams({ name: e.currentTarget.value })} />
            <a class="button main" href="/manage/templates?edit=">New template</a>
          </>
        }
        empty={!templates.data ? (templates.error ? null : <Loading />) : <Empty title={name ? 'No template matches.' : 'No template yet.'}><p>A template has the lines that many configurations share.</p></Empty>} />
      <Confirm question={question} close={() => setQuestion(null)} />
    </>
  );
}

function Edit({ of, workspaces, close, saved }: { of: Template | undefined; workspaces: Workspace[]; close: () => void; saved: () => void }) {
  const [text, setText] = useState(of ? of.source || write(of.config) : beginning);
  const [name, setName] = useState(of?.name ?? '');
  const [workspace, setWorkspace] = useState(0);
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState('');
  const wrong = read(text).problem ?? '';
  const save = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setFailed('');
    const config = read(text).draft ?? {};
    const at = workspace || workspaces.find((w) => !w.archived)?.id || 1;
    try {
      if (!of) await manage.createTemplate(name, { name, workspaceId: at, config, source: text });
      else {
        await manage.putTemplate(of.name, { name: of.name, workspaceId: of.workspaceId, config, source: text });
        if (name !== of.name) await manage.renameTemplate(of.name, name);
      }
      say(`Template ${name} saved`);
      saved();
      close();
    } catch (error) {
      setFailed(words(error));
      setBusy(false);
    }
  };
  return (
    <form class="stack scroll narrow-form" onSubmit={save}>
      <div class="fields">
        <label>Name<input required value={name} autocomplete="off" spellcheck={false} onInput={(e) => setName(e.currentTarget.value)} /></label>
        {!of && <label>Workspace<select onChange={(e) => setWorkspace(Number(e.currentTarget.value))}>{workspaces.filter((w) => !w.archived).map((w) => <option key={w.id} value={w.id}>{w.name}</option>)}</select></label>}
      </div>
      <Editor label="configuration of the template" value={text} change={setText} wrong={!!wrong} rows={Math.min(28, Math.max(12, text.split('\n').length + 1))} />
      {wrong && <p class="said bad">{wrong}</p>}
      {failed && <p class="problem" role="alert">{failed}</p>}
      <div class="row">
        <button type="submit" class="main" disabled={busy || !!wrong || !name.trim()}>Save</button>
        <button type="button" onClick={close}>Go back</button>
        <span class="grow" />
        <Copy text={text} what="template" />
      </div>
    </form>
  );
}
