// The model registry: models and their versions, which are checkpoints.
import { useMemo, useState } from 'preact/hooks';
import { api } from '../lib/api';
import { ago, clock, plural } from '../lib/format';
import { useLoad, useNow } from '../lib/load';
import { go, params, setParams } from '../lib/router';
import type { Model } from '../lib/types';
import { Empty, Loading, Problem } from '../parts/bits';
import { Dialog, list, text } from '../parts/Dialog';
import { useTitle } from '../parts/Shell';
import { sorted, sortOf, Table, type Column } from '../parts/Table';

const most = 1000;

export function Models() {
  useTitle('Models');
  const now = useNow();
  const name = params.value.get('name') ?? '';
  const label = params.value.get('label') ?? '';
  const all = params.value.get('archived') === '1';
  const [making, setMaking] = useState(false);
  const models = useLoad((signal) => api.models({ name, labels: label ? [label] : [], archived: all ? undefined : false, limit: most }, signal), [name, label, all]);
  const workspaces = useLoad((signal) => api.workspaces(signal), []);
  const nameOf = (id: number) => workspaces.data?.find((w) => w.id === id)?.name ?? '';
  const sort = sortOf({ key: 'updated', desc: true });
  const columns: Column<Model>[] = [
    { key: 'name', title: 'Name', width: 'minmax(10rem, 2fr)', narrow: true, sort: (m) => m.name.toLowerCase(), render: (m) => <span class="cut"><a href={`/models/${m.id}`} title={m.name}>{m.name}</a>{m.archived && <span class="tag">archived</span>}</span> },
    { key: 'versions', title: 'Versions', width: '6rem', right: true, narrow: true, sort: (m) => m.numVersions, render: (m) => <span class="num">{m.numVersions.toLocaleString('en')}</span> },
    { key: 'description', title: 'Description', width: 'minmax(8rem, 3fr)', sort: (m) => m.description, render: (m) => <span class="cut" title={m.description}>{m.description}</span> },
    { key: 'labels', title: 'Labels', width: 'minmax(7rem, 1fr)', render: (m) => <span class="cut">{m.labels.map((l) => <a key={l} class="tag" href={`/models?label=${encodeURIComponent(l)}`}>{l}</a>)}</span> },
    { key: 'workspace', title: 'Workspace', width: '9rem', sort: (m) => nameOf(m.workspaceId), render: (m) => <span class="cut">{nameOf(m.workspaceId)}</span> },
    { key: 'owner', title: 'Owner', width: '7rem', sort: (m) => m.username, render: (m) => <span class="cut">{m.username}</span> },
    { key: 'updated', title: 'Updated', width: '7rem', narrow: true, sort: (m) => m.lastUpdatedTime, render: (m) => <time dateTime={m.lastUpdatedTime} title={clock(m.lastUpdatedTime)}>{ago(m.lastUpdatedTime, now)}</time> },
    { key: 'created', title: 'Created', width: '7rem', hidden: true, sort: (m) => m.creationTime, render: (m) => <time dateTime={m.creationTime} title={clock(m.creationTime)}>{ago(m.creationTime, now)}</time> },
    { key: 'id', title: 'ID', width: '4rem', right: true, hidden: true, sort: (m) => m.id, render: (m) => <span class="num">{m.id}</span> },
  ];
  const found = models.data?.models ?? [];
  const total = models.data?.pagination.total ?? 0;
  const rows = useMemo(() => sorted(found, columns, sort), [models.data, workspaces.data, sort.key, sort.desc]);
  const make = async (form: FormData) => {
    const m = await api.createModel({ name: text(form, 'name'), description: text(form, 'description'), labels: list(form, 'labels'), workspaceId: Number(text(form, 'workspace')) });
    go(`/models/${m.id}`);
  };
  return (
    <div class="page full">
      <div class="head">
        <h1>Models</h1>
        <span class="grow" />
        <button type="button" class="main" onClick={() => setMaking(true)}>New model</button>
      </div>
      {models.error !== undefined && <Problem what="Could not load the models." error={models.error} retry={models.reload} />}
      {found.length < total && <p class="lead">The first {found.length} of {plural(total, 'model')}; search by name to see others.</p>}
      <Table<Model> label="models" columns={columns} count={rows.length} row={(i) => rows[i]} id={(m) => String(m.id)} open={(m) => go(`/models/${m.id}`)} sort={sort}
        tools={
          <>
            <input type="search" aria-label="search by name" placeholder="Search by name" value={name} onInput={(e) => setParams({ name: e.currentTarget.value })} />
            {label && <button type="button" onClick={() => setParams({ label: '' })}>label {label} ✕</button>}
            <label class="choice"><input type="checkbox" checked={all} onChange={() => setParams({ archived: all ? '' : 1 })} /> archived too</label>
          </>
        }
        empty={!models.data ? (models.error ? null : <Loading />) : name || label ? <Empty title="No model matches." /> : (
          <Empty title="No model yet.">
            <p>A model gives names and numbers to the checkpoints that matter. Register one from the checkpoints of an experiment, or with:</p>
            <pre>det model create NAME{'\n'}det model register-version NAME UUID</pre>
          </Empty>
        )} />
      <Dialog title="New model" open={making} yes="Create" close={() => setMaking(false)} act={make}>
        <label>Name<input name="name" required autocomplete="off" spellcheck={false} /></label>
        <label>Description<input name="description" autocomplete="off" /></label>
        <label>Labels, separated by commas<input name="labels" autocomplete="off" /></label>
        <label>Workspace
          <select name="workspace">{(workspaces.data ?? []).filter((w) => !w.archived).map((w) => <option key={w.id} value={w.id}>{w.name}</option>)}</select>
        </label>
      </Dialog>
    </div>
  );
}
