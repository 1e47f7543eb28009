// A model with its versions.
import { useState } from 'preact/hooks';
import { api, ApiError } from '../lib/api';
import { ago, bytes, clock, flat, metric, plain } from '../lib/format';
import { useLoad, useNow } from '../lib/load';
import { go } from '../lib/router';
import { complain, say } from '../lib/toast';
import type { Model, ModelVersion } from '../lib/types';
import { Confirm, Copy, Empty, Fact, Loading, Problem, type Question } from '../parts/bits';
import { Dialog, list, text } from '../parts/Dialog';
import { Markdown } from '../parts/Markdown';
import { useTitle } from '../parts/Shell';
import { sorted, sortOf, Table, type Column } from '../parts/Table';

export function ModelPage({ params: { id = '', version } }: { params: Record<string, string> }) {
  const model = useLoad((signal) => api.model(id, signal), [id]);
  const versions = useLoad((signal) => api.versions(id, signal), [id]);
  const workspaces = useLoad((signal) => api.workspaces(signal), []);
  const [question, setQuestion] = useState<Question | null>(null);
  const [editing, setEditing] = useState(false);
  const [version_, setVersion] = useState<ModelVersion | null>(null);
  const m = model.data;
  useTitle(m ? m.name : `Model ${id}`);
  if (!m) {
    if (model.error instanceof ApiError && model.error.status === 404) {
      return <Empty alone title={`There is no model ${id}.`}><p>The model may have been deleted. <a href="/models">All models</a></p></Empty>;
    }
    return model.error ? <Problem alone what={`Could not load model ${id}.`} error={model.error} retry={model.reload} /> : <Loading />;
  }
  const again = () => {
    model.reload();
    versions.reload();
  };
  const archive = async () => {
    try {
      await api.archiveModel(m.id, !m.archived);
      say(m.archived ? `Model ${m.name} unarchived` : `Model ${m.name} archived`);
    } catch (error) {
      complain(`${m.archived ? 'Unarchive' : 'Archive'} model ${m.name}`, error);
    }
    again();
  };
  const remove = () => setQuestion({
    title: `Delete model ${m.name}?`, text: 'Its versions, notes and labels are deleted. The checkpoints stay, and their files are no longer kept by the registry.', yes: 'Delete', danger: true,
    act: async () => {
      try {
        await api.deleteModel(m.id);
        say(`Model ${m.name} deleted`);
        go('/models');
      } catch (error) {
        complain(`Delete model ${m.name}`, error);
      }
    },
  });
  const removeVersion = (v: ModelVersion) => setQuestion({
    title: `Delete version ${v.version}?`, text: 'The checkpoint stays, and its files are no longer kept by the registry. The number is not used again.', yes: 'Delete', danger: true,
    act: async () => {
      try {
        await api.deleteVersion(m.id, v.version);
        say(`Version ${v.version} of ${m.name} deleted`);
      } catch (error) {
        complain(`Delete version ${v.version}`, error);
      }
      again();
    },
  });
  return (
    <div class="page">
      <p class="crumbs"><a href="/models">Models</a> <span aria-hidden="true">/</span> {workspaces.data?.find((w) => w.id === m.workspaceId)?.name ?? ''}</p>
      <div class="head">
        <h1>{m.name}</h1>
        {m.archived && <span class="tag">archived</span>}
        <span class="grow" />
        <div class="row" role="toolbar" aria-label="actions">
          {!m.archived && <button type="button" onClick={() => setEditing(true)}>Edit</button>}
          <button type="button" onClick={archive}>{m.archived ? 'Unarchive' : 'Archive'}</button>
          <button type="button" class="danger" onClick={remove}>Delete</button>
        </div>
      </div>
      {m.description && <p class="lead">{m.description}</p>}
      <div class="split late">
        <div>
          {versions.error !== undefined && <Problem what="Could not load the versions." error={versions.error} retry={versions.reload} />}
          {versions.data ? <Versions list={versions.data.modelVersions} marked={Number(version)} edit={setVersion} remove={removeVersion} /> : versions.error ? null : <Loading />}
        </div>
        <Facts m={m} />
      </div>
      <Edit m={m} open={editing} close={() => setEditing(false)} done={again} />
      <EditVersion m={m} v={version_} close={() => setVersion(null)} done={again} />
      <Confirm question={question} close={() => setQuestion(null)} />
    </div>
  );
}

const size = (v: ModelVersion): number => v.checkpoint.state === 'STATE_DELETED' ? 0 : Object.values(v.checkpoint.resources).reduce((sum, n) => sum + Number(n), 0);

function Versions({ list: all, marked, edit, remove }: { list: ModelVersion[]; marked: number; edit: (v: ModelVersion) => void; remove: (v: ModelVersion) => void }) {
  const now = useNow();
  const sort = sortOf({ key: 'version', desc: true });
  const columns: Column<ModelVersion>[] = [
    { key: 'version', title: 'Version', width: '5.5rem', right: true, narrow: true, sort: (v) => v.version, render: (v) => <span class="num">{v.version}</span> },
    { key: 'name', title: 'Name', width: 'minmax(7rem, 2fr)', narrow: true, sort: (v) => v.name, render: (v) => <span class="cut" title={v.comment || v.name}>{v.name || <span class="faint">{v.comment}</span>}{v.labels.map((l) => <span key={l} class="tag">{l}</span>)}</span> },
    { key: 'checkpoint', title: 'Checkpoint', width: '8rem', render: (v) => <span class="row"><code title={v.checkpoint.uuid}>{v.checkpoint.uuid.slice(0, 8)}</code><Copy text={v.checkpoint.uuid} what="checkpoint's id" /></span> },
    { key: 'experiment', title: 'Experiment', width: '7rem', right: true, sort: (v) => v.checkpoint.training.experimentId ?? 0, render: (v) => (v.checkpoint.training.experimentId ? <a class="num" href={`/experiments/${v.checkpoint.training.experimentId}`}>{v.checkpoint.training.experimentId}</a> : <span class="faint">–</span>) },
    { key: 'batches', title: 'Batches', width: '6rem', right: true, sort: (v) => Number(v.checkpoint.metadata.steps_completed ?? 0), render: (v) => <span class="num">{Number(v.checkpoint.metadata.steps_completed ?? 0).toLocaleString('en')}</span> },
    { key: 'metric', title: 'Metric', width: '7rem', right: true, sort: (v) => v.checkpoint.training.searcherMetric ?? NaN, render: (v) => <span class="num" title={v.checkpoint.training.experimentConfig?.searcher?.metric}>{metric(v.checkpoint.training.searcherMetric)}</span> },
    { key: 'size', title: 'Size', width: '6rem', right: true, hidden: true, sort: size, render: (v) => <span class="num">{bytes(size(v))}</span> },
    { key: 'user', title: 'By', width: '7rem', hidden: true, sort: (v) => v.username, render: (v) => <span class="cut">{v.username}</span> },
    { key: 'time', title: 'Registered', width: '7rem', sort: (v) => v.creationTime, render: (v) => <time dateTime={v.creationTime} title={clock(v.creationTime)}>{ago(v.creationTime, now)}</time> },
    { key: 'do', title: ' ', width: '13rem', narrow: true, render: (v) => (
      <span class="row end">
        <a class="button quiet" href={`/checkpoints/${v.checkpoint.uuid}`} download={`${v.checkpoint.uuid}.tar.gz`}>download</a>
        <button type="button" class="quiet" aria-label={`edit version ${v.version}`} onClick={() => edit(v)}>edit</button>
        <button type="button" class="quiet" aria-label={`delete version ${v.version}`} onClick={() => remove(v)}>delete</button>
      </span>
    ) },
  ];
  const rows = sorted(all, columns, sort);
  return (
    <Table<ModelVersion> label="versions" columns={columns} count={rows.length} row={(i) => rows[i]} id={(v) => String(v.version)} sort={sort} marked={(v) => v.version === marked} fit
      empty={<Empty title="No version yet."><p>Register a checkpoint from the list of checkpoints of an experiment.</p></Empty>} />
  );
}

function Facts({ m }: { m: Model }) {
  const now = useNow();
  const noted = flat(m.metadata).map(([k, v]): [string, string] => [k, plain(v)]);
  return (
    <aside class="facts">
      <section class="card" aria-label="facts">
        <dl>
          <Fact name="Owner">{m.username}</Fact>
          <Fact name="Versions"><span class="num">{m.numVersions}</span></Fact>
          <Fact name="Created"><time dateTime={m.creationTime} title={clock(m.creationTime)}>{ago(m.creationTime, now)}</time></Fact>
          <Fact name="Updated"><time dateTime={m.lastUpdatedTime} title={clock(m.lastUpdatedTime)}>{ago(m.lastUpdatedTime, now)}</time></Fact>
          {m.labels.length > 0 && <Fact name="Labels">{m.labels.map((l) => <a key={l} class="tag" href={`/models?label=${encodeURIComponent(l)}`}>{l}</a>)}</Fact>}
        </dl>
      </section>
      {noted.length > 0 && <section class="card" aria-label="metadata"><h2>Metadata</h2><dl class="mono">{noted.map(([k, v]) => <Fact key={k} name={k}><span title={v}>{v}</span></Fact>)}</dl></section>}
      {m.notes && <section class="card" aria-label="notes"><h2>Notes</h2><Markdown text={m.notes} /></section>}
    </aside>
  );
}

function Edit({ m, open, close, done }: { m: Model; open: boolean; close: () => void; done: () => void }) {
  const act = async (form: FormData) => {
    await api.changeModel(m.id, { name: text(form, 'name'), description: text(form, 'description'), labels: list(form, 'labels'), notes: text(form, 'notes') });
    done();
  };
  return (
    <Dialog title={`Edit model ${m.name}`} open={open} yes="Save" close={close} act={act}>
      <label>Name<input name="name" required defaultValue={m.name} autocomplete="off" spellcheck={false} /></label>
      <label>Description<input name="description" defaultValue={m.description} autocomplete="off" /></label>
      <label>Labels, separated by commas<input name="labels" defaultValue={m.labels.join(', ')} autocomplete="off" /></label>
      <label>Notes<textarea name="notes" defaultValue={m.notes} /></label>
    </Dialog>
  );
}

function EditVersion({ m, v, close, done }: { m: Model; v: ModelVersion | null; close: () => void; done: () => void }) {
  if (!v) return null;
  const act = async (form: FormData) => {
    await api.changeVersion(m.id, v.version, { name: text(form, 'name'), comment: text(form, 'comment'), labels: list(form, 'labels'), notes: text(form, 'notes') });
    done();
  };
  return (
    <Dialog title={`Edit version ${v.version}`} open yes="Save" close={close} act={act}>
      <label>Name<input name="name" defaultValue={v.name} autocomplete="off" /></label>
      <label>Comment<input name="comment" defaultValue={v.comment} autocomplete="off" /></label>
      <label>Labels, separated by commas<input name="labels" defaultValue={v.labels.join(', ')} autocomplete="off" /></label>
      <label>Notes<textarea name="notes" defaultValue={v.notes} /></label>
    </Dialog>
  );
}
