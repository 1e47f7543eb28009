// Starts a notebook, TensorBoard, shell, command or generic task. The user writes the configuration in a form or as
// YAML, and the master checks it meanwhile.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { allKinds, api, type AnyKind } from '../lib/api';
import { launch, projects as listProjects, templates as listTemplates } from '../lib/do';
import { at, command, put, read, write, type Draft } from '../lib/draft';
import { below, excluded, maxBytes, pack, size, type Chosen } from '../lib/files';
import { bytes, plural } from '../lib/format';
import { useLoad } from '../lib/load';
import { go, params, setParams } from '../lib/router';
import { me } from '../lib/session';
import { ended } from '../lib/states';
import { say, words } from '../lib/toast';
import type { Project } from '../lib/types';
import { Empty } from '../parts/bits';
import { Check, useCheck } from '../parts/Check';
import { Editor } from '../parts/Editor';
import { useTitle } from '../parts/Shell';

const names: Record<AnyKind, string> = { notebooks: 'notebook', tensorboards: 'TensorBoard', shells: 'shell', commands: 'command', generics: 'generic task' };
const about: Record<AnyKind, string> = {
  notebooks: 'JupyterLab on a node of the cluster.',
  tensorboards: 'Curves of experiments and trials from their event files.',
  shells: 'An SSH session on a node, which det shell open opens.',
  commands: 'One program on a node, with its log here.',
  generics: 'A program that can be paused. It can belong to another task: if that task is paused or ends, this one does too.',
};

// runs is whether the configuration says which program runs.
const runs = (kind: AnyKind) => kind === 'commands' || kind === 'generics';

const numbers = (text: string) => text.split(/[\s,]+/).filter(Boolean).map(Number);

// begun returns the draft that the page's address describes.
function begun(kind: AnyKind, p: URLSearchParams): Draft {
  let d: Draft = {};
  const name = p.get('name');
  if (name) d = put(d, 'description', name);
  const slots = p.get('slots');
  if (slots && Number.isInteger(Number(slots))) d = put(d, 'resources.slots', Number(slots));
  const pool = p.get('pool');
  if (pool) d = put(d, 'resources.resource_pool', pool);
  if (runs(kind) && p.get('run')) d = put(d, 'entrypoint', ['/bin/sh', '-c', p.get('run')]);
  return d;
}

export function LaunchPage({ params: { kind: asked = 'notebooks' } }: { params: Record<string, string> }) {
  const kind = allKinds.find((k) => k === asked || k.slice(0, -1) === asked);
  useTitle(kind ? `New ${names[kind]}` : 'New task');
  if (!kind) return <Empty alone title={`There is no kind of task called ${asked}.`}><p><a href="/launch/notebooks">Start a notebook</a></p></Empty>;
  return <Launch key={kind} kind={kind} />;
}

function Launch({ kind }: { kind: AnyKind }) {
  const p = params.value;
  const asYaml = p.get('view') === 'yaml';
  const template = p.get('template') ?? '';
  const workspace = Number(p.get('workspace')) || 0;
  const experiments = p.get('experiments') ?? '';
  const trials = p.get('trials') ?? '';
  const generic = kind === 'generics';
  const parent = p.get('parent') ?? '';
  const project = Number(p.get('project')) || 0;
  const inherit = p.get('inherit') === '1';
  const noPause = p.get('nopause') === '1';
  const [draft, setDraft] = useState<Draft>(() => begun(kind, p));
  const [text, setText] = useState(() => write(draft));
  const [local, setLocal] = useState('');
  const [files, setFiles] = useState<Chosen[]>([]);
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState('');
  const pools = useLoad((signal) => api.pools(signal), []);
  const templates = useLoad((signal) => listTemplates(signal), []);
  const workspaces = useLoad((signal) => api.workspaces(signal), []);
  const projects = useLoad((signal) => (generic ? listProjects(signal) : Promise.resolve([])), [generic]);
  const parents = useLoad(async (signal) => (generic ? (await api.tasks('generics', signal)).filter((t) => t.userId === me.value?.id && !ended(t.state)) : []), [generic]);
  const shown = numbers(experiments).concat(numbers(trials));
  const missing = runs(kind) && !at(draft, 'entrypoint') ? `Enter the program that the ${names[kind]} runs.`
    : kind === 'tensorboards' && shown.length === 0 ? 'Enter the experiments or trials that it shows.'
      : shown.some((n) => !Number.isInteger(n) || n < 1) ? 'Enter the numbers of experiments and trials, separated by commas.' : '';
  const problem = local || missing;
  const request = { config: draft, template, workspace, experiments: numbers(experiments), trials: numbers(trials), ...(generic ? { project, parent, inherit, noPause } : {}) };
  const answer = useCheck(problem ? null : (signal) => launch(kind, request, true, signal), [problem, request]);
  const tooMuch = size(files) > maxBytes ? `The files have ${bytes(size(files))}; at most ${bytes(maxBytes)} can be sent from a browser. det sends more.` : '';

  const set = (path: string, value: unknown) => {
    const next = put(draft, path, value === '' ? undefined : value);
    setDraft(next);
    setText(write(next));
    setLocal('');
  };
  const typed = (next: string) => {
    setText(next);
    const r = read(next);
    setLocal(r.problem ?? '');
    if (r.draft) setDraft(r.draft);
  };
  useEffect(() => setFailed(''), [text, template, workspace, experiments, trials, project, parent, inherit, noPause]);
  const start = async (e: Event) => {
    e.preventDefault();
    if (problem || tooMuch) return setFailed(problem || tooMuch);
    setBusy(true);
    try {
      const made = await launch(kind, { ...request, files: await pack(files) }, false);
      say(`The ${names[kind]} is in the queue`);
      go(`/tasks/${made.id}`);
    } catch (error) {
      setFailed(words(error));
      setBusy(false);
    }
  };
  const choose = (list: FileList | null) => {
    const chosen = [...(list ?? [])].map((file): Chosen => ({ path: below(file), file })).filter((f) => !excluded(f.path));
    setFiles((old) => [...old.filter((o) => !chosen.some((c) => c.path === o.path)), ...chosen]);
  };
  const to = (k: AnyKind) => `/launch/${k}${p.toString() ? `?${p}` : ''}`;

  return (
    <div class="page">
      <p class="crumbs"><a href="/tasks">Tasks</a> <span aria-hidden="true">/</span> New</p>
      <div class="head"><h1>New {names[kind]}</h1></div>
      <nav class="tabs" aria-label="kinds of tasks">
        {allKinds.map((k) => <a key={k} href={to(k)} aria-current={k === kind ? 'page' : undefined}>{names[k][0]!.toUpperCase() + names[k].slice(1)}</a>)}
      </nav>
      <p class="lead">{about[kind]}</p>
      <form class="two-columns" onSubmit={start}>
        <div class="stack">
          {kind === 'tensorboards' && (
            <div class="fields">
              <label>Experiments<input value={experiments} inputMode="numeric" placeholder="7, 9" onInput={(e) => setParams({ experiments: e.currentTarget.value })} /></label>
              <label>Trials<input value={trials} inputMode="numeric" placeholder="31" onInput={(e) => setParams({ trials: e.currentTarget.value })} /></label>
            </div>
          )}
          <div class="row wrap">
            <span class="choices" role="group" aria-label="how to write it">
              <button type="button" class={asYaml ? '' : 'on'} aria-pressed={!asYaml} onClick={() => setParams({ view: '' })}>Form</button>
              <button type="button" class={asYaml ? 'on' : ''} aria-pressed={asYaml} onClick={() => setParams({ view: 'yaml' })}>YAML</button>
            </span>
            <span class="faint small">Both show the same configuration.</span>
          </div>
          {asYaml ? <Editor label="configuration as YAML" value={text} change={typed} wrong={!!local} describedBy="check-problem" rows={14} />
            : local ? <p class="said bad">The YAML has a mistake, so the form cannot show it: {local}</p>
              : <Fields kind={kind} draft={draft} set={set} pools={pools.data ?? []} />}
          {generic ? <Place projects={projects.data ?? []} project={project} parents={parents.data ?? []} parent={parent} inherit={inherit} noPause={noPause} files={files.length > 0} /> : <div class="fields">
            <label>Template
              <select value={template} onChange={(e) => setParams({ template: e.currentTarget.value })}>
                <option value="">none</option>
                {template && !templates.data?.some((t) => t.name === template) && <option value={template}>{template}</option>}
                {(templates.data ?? []).map((t) => <option key={t.name} value={t.name}>{t.name}</option>)}
              </select>
            </label>
            <label>Workspace
              <select value={workspace || ''} onChange={(e) => setParams({ workspace: e.currentTarget.value })}>
                <option value="">the default</option>
                {(workspaces.data ?? []).filter((w) => !w.archived).map((w) => <option key={w.id} value={w.id}>{w.name}</option>)}
              </select>
            </label>
          </div>}
          {kind !== 'tensorboards' && (
            <fieldset class="files">
              <legend>Files for the task</legend>
              <div class="row wrap">
                <label class="button">Choose files…<input type="file" class="hidden-file" multiple onChange={(e) => { choose(e.currentTarget.files); e.currentTarget.value = ''; }} /></label>
                <label class="button">Choose a folder…<input type="file" class="hidden-file" {...{ webkitdirectory: true }} onChange={(e) => { choose(e.currentTarget.files); e.currentTarget.value = ''; }} /></label>
                {files.length > 0 ? (
                  <>
                    <span class="small">{plural(files.length, 'file')}, {bytes(size(files))}</span>
                    <button type="button" class="quiet" onClick={() => setFiles([])}>Clear</button>
                  </>
                ) : <span class="faint small">Optional. The task finds them in its working folder.</span>}
              </div>
              {tooMuch && <p class="said bad">{tooMuch}</p>}
            </fieldset>
          )}
          {failed && <p class="problem" role="alert">{failed}</p>}
          <div class="row">
            <button type="submit" class="main" disabled={busy || !!problem || !!tooMuch || (!!answer.problem && !answer.away)}>Start</button>
            <a class="button" href="/tasks">Go back</a>
          </div>
        </div>
        <Check answer={answer} local={problem} what={`this ${names[kind]}`} />
      </form>
    </div>
  );
}

// Place is where a generic task belongs: a project, and the tree of another task.
function Place({ projects, project, parents, parent, inherit, noPause, files }: { projects: readonly Project[]; project: number; parents: readonly { id: string; description: string }[]; parent: string; inherit: boolean; noPause: boolean; files: boolean }) {
  return (
    <div class="fields">
      <label>Project
        <select value={project || ''} onChange={(e) => setParams({ project: e.currentTarget.value })}>
          <option value="">the default</option>
          {project > 0 && !projects.some((x) => x.id === project) && <option value={project}>project {project}</option>}
          {projects.map((x) => <option key={x.id} value={x.id}>{x.workspaceName} / {x.name}</option>)}
        </select>
      </label>
      <label>Below task
        <select value={parent} onChange={(e) => setParams({ parent: e.currentTarget.value, inherit: '', nopause: '' })}>
          <option value="">none</option>
          {parent && !parents.some((t) => t.id === parent) && <option value={parent}>{parent}</option>}
          {parents.map((t) => <option key={t.id} value={t.id}>{t.description || t.id}</option>)}
        </select>
      </label>
      {parent && <label class="choice foot-choice"><input type="checkbox" checked={inherit && !files} disabled={files} onChange={() => setParams({ inherit: inherit ? '' : 1 })} /> with the code of that task</label>}
      <label class="choice foot-choice"><input type="checkbox" checked={noPause} onChange={() => setParams({ nopause: noPause ? '' : 1 })} /> never paused</label>
    </div>
  );
}

function Fields({ kind, draft, set, pools }: { kind: AnyKind; draft: Draft; set: (path: string, value: unknown) => void; pools: Awaited<ReturnType<typeof api.pools>> }) {
  const text = (path: string) => {
    const v = at(draft, path);
    return v === undefined || v === null ? '' : String(v);
  };
  const whole = (v: string) => (v === '' ? undefined : Number.isInteger(Number(v)) ? Number(v) : v);
  const variables = at(draft, 'environment.environment_variables');
  const lines = useMemo(() => (Array.isArray(variables) ? variables.map(String).join('\n') : ''), [variables]);
  const [typedVariables, setTyped] = useState(lines);
  const program = command(at(draft, 'entrypoint'));
  const pool = text('resources.resource_pool');
  return (
    <div class="fields">
      <label class="wide">Name<input value={text('description')} autocomplete="off" placeholder="optional" onInput={(e) => set('description', e.currentTarget.value)} /></label>
      {runs(kind) && (
        <label class="wide">Program
          <input class="mono" value={program.line} disabled={!program.own} spellcheck={false} autocomplete="off" placeholder="python3 prepare.py --all" onInput={(e) => set('entrypoint', e.currentTarget.value ? ['/bin/sh', '-c', e.currentTarget.value] : undefined)} />
          {!program.own && <span class="hint">Its entrypoint is a list of words; change it as YAML.</span>}
        </label>
      )}
      <label>Pool
        <select value={pool} onChange={(e) => set('resources.resource_pool', e.currentTarget.value)}>
          <option value="">the default</option>
          {pool && !pools.some((p) => p.name === pool) && <option value={pool}>{pool}</option>}
          {pools.map((p) => <option key={p.name} value={p.name}>{p.name} ({Math.max(0, p.slotsAvailable - p.slotsUsed)} of {p.slotsAvailable} free)</option>)}
        </select>
      </label>
      <label>Slots<input type="number" min={0} value={text('resources.slots')} placeholder={kind === 'tensorboards' ? '0' : '1'} onInput={(e) => set('resources.slots', whole(e.currentTarget.value))} /></label>
      <label>Priority<input type="number" min={1} max={99} value={text('resources.priority')} placeholder="of the pool" onInput={(e) => set('resources.priority', whole(e.currentTarget.value))} /></label>
      {!runs(kind) && <label>Ends when not used for<input value={text('idle_timeout')} placeholder="as in 30m" onInput={(e) => set('idle_timeout', e.currentTarget.value)} /></label>}
      <label class="wide">Working folder<input class="mono" value={text('work_dir')} spellcheck={false} placeholder="of the task" onInput={(e) => set('work_dir', e.currentTarget.value)} /></label>
      <label class="wide">Image<input class="mono" value={typeof at(draft, 'environment.image') === 'object' ? '' : text('environment.image')} spellcheck={false} placeholder={typeof at(draft, 'environment.image') === 'object' ? 'one for each kind of device: see the YAML' : 'of the pool'} disabled={typeof at(draft, 'environment.image') === 'object'} onInput={(e) => set('environment.image', e.currentTarget.value)} /></label>
      <label class="wide">Environment variables
        <textarea class="mono" rows={2} spellcheck={false} placeholder={'NAME=value, one on a line'} value={typedVariables} onInput={(e) => {
          setTyped(e.currentTarget.value);
          const list = e.currentTarget.value.split('\n').map((l) => l.trim()).filter(Boolean);
          set('environment.environment_variables', list.length ? list : undefined);
        }} />
      </label>
    </div>
  );
}
