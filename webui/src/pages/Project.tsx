// A project: its experiments, and its notes.
import { useState } from 'preact/hooks';
import { ApiError } from '../lib/api';
import { plural } from '../lib/format';
import { useLoad } from '../lib/load';
import { attempt, manage } from '../lib/manage';
import { go } from '../lib/router';
import { say, words } from '../lib/toast';
import type { Note, Project } from '../lib/types';
import { Markdown } from '../parts/Markdown';
import { Confirm, Empty, Loading, Menu, Problem, Tabs, type Question } from '../parts/bits';
import { Dialog, text as field } from '../parts/Dialog';
import { may } from '../lib/session';
import { useTitle } from '../parts/Shell';
import { ExperimentList } from './Experiments';
import { ProjectDialog } from './Workspaces';

export function ProjectPage({ params: { id: text = '', tab = 'experiments' } }: { params: Record<string, string> }) {
  const id = Number(text);
  const project = useLoad((signal) => manage.project(id, signal), [id]);
  const [open, setOpen] = useState<'edit' | 'move' | ''>('');
  const [question, setQuestion] = useState<Question | null>(null);
  const p = project.data;
  useTitle(p ? p.name : `Project ${text}`);
  if (!p) {
    if (project.error instanceof ApiError && project.error.status === 404) return <Empty alone title={`There is no project ${text}.`}><p>It may have been deleted, or you may not see it. <a href="/workspaces">All workspaces</a></p></Empty>;
    return project.error ? <Problem alone what={`Could not load project ${text}.`} error={project.error} retry={project.reload} /> : <Loading />;
  }
  const change = async (what: string, act: () => Promise<unknown>, done: string) => {
    await attempt(what, act, done);
    project.reload();
  };
  const remove = () => setQuestion({
    title: `Delete project ${p.name}?`, yes: 'Delete', danger: true,
    text: p.numExperiments > 0 ? `It still has ${plural(p.numExperiments, 'experiment')}. A project can be deleted when it is empty: move or delete them first.` : 'Its notes are deleted with it.',
    act: async () => {
      if (await attempt(`Delete project ${p.name}`, () => manage.deleteProject(p.id), `Project ${p.name} deleted`)) go(`/workspaces/${p.workspaceId}`);
      else project.reload();
    },
  });
  const changes = may('UPDATE_PROJECT', p.workspaceId, p.userId);
  const deletes = may('DELETE_PROJECT', p.workspaceId, p.userId);
  return (
    <div class="page full">
      <p class="crumbs"><a href="/workspaces">Workspaces</a> <span aria-hidden="true">/</span> <a href={`/workspaces/${p.workspaceId}`}>{p.workspaceName}</a></p>
      <div class="head">
        <h1>{p.name}</h1>
        {p.archived && <span class="tag">archived</span>}
        {p.description && <span class="faint cut">{p.description}</span>}
        <span class="grow" />
        {(changes || deletes) && !p.immutable && (
          <div class="row" role="toolbar" aria-label="actions">
            {changes && !p.archived && <button type="button" onClick={() => setOpen('edit')}>Edit</button>}
            <Menu label="More" title="more actions">
              {(close) => (
                <>
                  {changes && !p.archived && <button type="button" class="item" onClick={() => { close(); setOpen('move'); }}>Move…</button>}
                  {changes && <button type="button" class="item" onClick={() => { close(); void change(p.archived ? 'Unarchive' : 'Archive', () => manage.archiveProject(p.id, !p.archived), p.archived ? `${p.name} unarchived` : `${p.name} archived`); }}>{p.archived ? 'Unarchive' : 'Archive'}</button>}
                  {deletes && <button type="button" class="item danger" onClick={() => { close(); remove(); }}>Delete…</button>}
                </>
              )}
            </Menu>
          </div>
        )}
      </div>
      {p.errorMessage && <p class="said bad">{p.errorMessage}</p>}
      <Tabs at={tab} href={(k) => `/projects/${p.id}${k === 'experiments' ? '' : `/${k}`}`} items={[{ key: 'experiments', title: 'Experiments', count: p.numExperiments }, { key: 'notes', title: 'Notes', count: p.notes.length }]} />
      {tab === 'notes' ? <Notes key={p.id} p={p} may={!p.archived && changes} saved={project.reload} /> : <ExperimentList project={p.id} />}
      {open === 'edit' && <ProjectDialog of={p} workspace={p.workspaceId} close={() => setOpen('')} done={project.reload} />}
      {open === 'move' && <MoveProject p={p} close={() => setOpen('')} done={project.reload} />}
      <Confirm question={question} close={() => setQuestion(null)} />
    </div>
  );
}

function MoveProject({ p, close, done }: { p: Project; close: () => void; done: () => void }) {
  const workspaces = useLoad((signal) => manage.workspaces(signal), []);
  const act = async (form: FormData) => {
    await manage.moveProject(p.id, Number(field(form, 'to')));
    say(`Project ${p.name} moved`);
    done();
  };
  return (
    <Dialog title={`Move ${p.name}`} open={!!workspaces.data || !!workspaces.error} yes="Move" close={close} act={act}>
      <label>To workspace<select name="to">{(workspaces.data ?? []).filter((w) => !w.archived && w.id !== p.workspaceId).map((w) => <option key={w.id} value={w.id}>{w.name}</option>)}</select></label>
      <p class="faint small">Its experiments go with it.</p>
    </Dialog>
  );
}

function Notes({ p, may, saved }: { p: Project; may: boolean; saved: () => void }) {
  const [draft, setDraft] = useState<Note[] | null>(null);
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState('');
  const list = draft ?? p.notes;
  const edit = (i: number, change: Partial<Note>) => setDraft(list.map((n, j) => (j === i ? { ...n, ...change } : n)));
  const save = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setFailed('');
    try {
      await manage.setNotes(p.id, list);
      say('The notes are saved');
      setDraft(null);
      saved();
    } catch (error) {
      setFailed(words(error));
    } finally {
      setBusy(false);
    }
  };
  if (!draft) {
    return (
      <div class="stack scroll">
        {may && <div class="row"><button type="button" onClick={() => setDraft(p.notes.length ? p.notes : [{ name: 'Notes', contents: '' }])}>{p.notes.length ? 'Edit the notes' : 'Write a note'}</button></div>}
        {p.notes.map((n, i) => <section key={i} class="card note" aria-label={n.name || 'note'}><h2>{n.name || 'Note'}</h2><Markdown text={n.contents} /></section>)}
        {p.notes.length === 0 && <Empty title="No note yet." />}
      </div>
    );
  }
  return (
    <form class="stack scroll narrow-form" onSubmit={save}>
      {list.map((n, i) => (
        <fieldset key={i} class="card stack note">
          <legend class="unseen">note {i + 1}</legend>
          <div class="row">
            <input class="grow" aria-label={`title of note ${i + 1}`} value={n.name} onInput={(e) => edit(i, { name: e.currentTarget.value })} />
            <button type="button" class="quiet" onClick={() => setDraft(list.filter((_, j) => j !== i))}>Remove</button>
          </div>
          <textarea aria-label={`text of note ${i + 1}`} rows={8} value={n.contents} onInput={(e) => edit(i, { contents: e.currentTarget.value })} />
        </fieldset>
      ))}
      {failed && <p class="problem" role="alert">{failed}</p>}
      <div class="row">
        <button type="submit" class="main" disabled={busy}>Save</button>
        <button type="button" onClick={() => setDraft([...list, { name: `Note ${list.length + 1}`, contents: '' }])}>Add a note</button>
        <button type="button" onClick={() => setDraft(null)}>Go back</button>
      </div>
    </form>
  );
}
