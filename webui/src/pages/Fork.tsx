// A new experiment from an old one or from one of its trials: its code with a configuration that
// can be changed; or the same experiment once more, from its last checkpoint.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { api, ApiError } from '../lib/api';
import { proceed, projects as listProjects, submit } from '../lib/do';
import { filesOf, treeOf } from '../lib/code';
import { around, fixed, needsCode, onward, read, varies, write } from '../lib/draft';
import { useLoad } from '../lib/load';
import { go, params, setParams } from '../lib/router';
import { ended } from '../lib/states';
import { say, words } from '../lib/toast';
import type { Experiment, Project } from '../lib/types';
import { Empty, Loading, Problem } from '../parts/bits';
import { Check, useCheck } from '../parts/Check';
import { Editor } from '../parts/Editor';
import { useTitle } from '../parts/Shell';

const deep = (config: unknown) => (config && typeof config === 'object' ? (config as Record<string, unknown>) : {});

export function ForkExperiment({ params: { id: text } }: { params: Record<string, string> }) {
  const id = Number(text);
  useTitle(`Fork experiment ${text}`);
  const loaded = useLoad((signal) => api.experiment(id, signal), [id]);
  const e = loaded.data?.experiment;
  if (!e) return <Missing what={`experiment ${text}`} loaded={loaded} />;
  return <Fork e={e} start={e.originalConfig || write(deep(e.config))} title={`Fork experiment ${e.id}`} back={`/experiments/${e.id}`} />;
}

export function ForkTrial({ params: { id: text } }: { params: Record<string, string> }) {
  const id = Number(text);
  useTitle(`From trial ${text}`);
  const loaded = useLoad(async (signal) => {
    const trial = await api.trial(id, signal);
    return { trial, experiment: (await api.experiment(trial.experimentId, signal)).experiment };
  }, [id]);
  const as = params.value.get('as'), search = as === 'search', on = as === 'continue';
  const checkpoint = params.value.get('checkpoint') ?? '';
  const wide = params.value.get('wide') === '1';
  const start = useMemo(() => {
    if (!loaded.data) return '';
    const { trial, experiment } = loaded.data;
    const whole = deep(experiment.config);
    const config = { hyperparameters: whole.hyperparameters, ...(read(experiment.originalConfig || '').draft ?? whole) };
    const hparams = deep(trial.hparams);
    return write(search ? around(config, hparams, wide) : on ? onward(config, hparams, trial.id, checkpoint) : fixed(config, hparams));
  }, [loaded.data, search, on, checkpoint, wide]);
  if (!loaded.data) return <Missing what={`trial ${text}`} loaded={loaded} />;
  return (
    <Fork key={`${as} ${checkpoint} ${wide}`} e={loaded.data.experiment} start={start} title={search ? `Search around trial ${id}` : on ? `Continue from trial ${id}` : `Train trial ${id} again`} back={`/trials/${id}`}>
      <span class="choices" role="group" aria-label="what to make of the trial">
        <button type="button" class={search || on ? '' : 'on'} aria-pressed={!search && !on} onClick={() => setParams({ as: '', wide: '' })}>One trial with its hyperparameters</button>
        <button type="button" class={search ? 'on' : ''} aria-pressed={search} onClick={() => setParams({ as: 'search' })}>A search around them</button>
        {(on || loaded.data.trial.checkpointCount > 0) && <button type="button" class={on ? 'on' : ''} aria-pressed={on} onClick={() => setParams({ as: 'continue', wide: '' })}>One trial from its checkpoint</button>}
      </span>
      {on && <p class="said">The new trial begins with {checkpoint ? <>checkpoint <code>{checkpoint}</code></> : 'the newest checkpoint'} of trial {id}, and trains for the whole length below.</p>}
      {search && (varies(loaded.data.experiment.config.hyperparameters)
        ? <label class="choice"><input type="checkbox" checked={wide} onChange={() => setParams({ wide: wide ? '' : 1 })} /> also outside of the old ranges</label>
        : <p class="said wait">All hyperparameters of this experiment are constants. Write a range for each that the search should vary.</p>)}
    </Fork>
  );
}

function Missing({ what, loaded }: { what: string; loaded: { error: unknown; reload: () => void } }) {
  if (loaded.error instanceof ApiError && loaded.error.status === 404) return <Empty alone title={`There is no ${what}.`}><p><a href="/experiments">All experiments</a></p></Empty>;
  return loaded.error ? <Problem alone what={`Could not load ${what}.`} error={loaded.error} retry={loaded.reload} /> : <Loading lines={5} />;
}

export function ProjectSelect({ projects, value, change, name }: { projects: Project[]; value?: number; change?: (id: number) => void; name?: string }) {
  const spaces = [...new Set(projects.map((p) => p.workspaceName))];
  return (
    <select name={name} {...(value === undefined ? {} : { value })} onChange={(e) => change?.(Number(e.currentTarget.value))}>
      {spaces.map((w) => <optgroup key={w} label={w}>{projects.filter((p) => p.workspaceName === w).map((p) => <option key={p.id} value={p.id}>{p.name}</option>)}</optgroup>)}
    </select>
  );
}

function Fork({ e, start, title, back, children }: { e: Experiment; start: string; title: string; back: string; children?: preact.ComponentChildren }) {
  const [text, setText] = useState(start);
  const [project, setProject] = useState(e.projectId);
  const [paused, setPaused] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState('');
  const projects = useLoad((signal) => listProjects(signal), []);
  const local = text.trim() ? read(text).problem ?? '' : 'The configuration is empty.';
  const body = { parentId: e.id, config: text, projectId: project };
  const answer = useCheck(local ? null : (signal) => submit({ ...body, validateOnly: true }, signal), [local, body]);
  const runs = needsCode(answer.checked?.config.entrypoint);
  const code = useLoad(async (signal) => (runs ? filesOf(await treeOf(e.id, signal)).length : null), [e.id, !!runs]);
  const doubt = code.data === 0 && runs ? `The entrypoint runs ${runs}, but experiment ${e.id} has no code.` : '';
  useEffect(() => setFailed(''), [text, project]);
  const go_ = async (ev: Event) => {
    ev.preventDefault();
    setBusy(true);
    try {
      const made = await submit({ ...body, activate: !paused });
      say(`Experiment ${made.experiment.id} is ${paused ? 'created, paused' : 'in the queue'}`);
      go(`/experiments/${made.experiment.id}`);
    } catch (error) {
      setFailed(words(error));
      setBusy(false);
    }
  };
  return (
    <div class="page">
      <p class="crumbs"><a href={`/experiments/${e.id}`}>{e.id} {e.name}</a> <span aria-hidden="true">/</span> New experiment</p>
      <div class="head"><h1>{title}</h1></div>
      <p class="lead">A new experiment with the code of experiment {e.id} and this configuration. The old one stays as it is.</p>
      <form class="two-columns" onSubmit={go_}>
        <div class="stack">
          {children}
          <Editor label="configuration" value={text} change={setText} wrong={!!local} describedBy="check-problem" rows={Math.min(30, Math.max(14, start.split('\n').length + 1))} />
          <div class="fields">
            <label>Project{projects.data ? <ProjectSelect projects={projects.data} value={project} change={setProject} /> : <select disabled><option>{e.workspaceName} / {e.projectName}</option></select>}</label>
            <label class="choice foot-choice"><input type="checkbox" checked={paused} onChange={() => setPaused(!paused)} /> create it paused</label>
          </div>
          {failed && <p class="problem" role="alert">{failed}</p>}
          <div class="row">
            <button type="submit" class="main" disabled={busy || !!local || (!!answer.problem && !answer.away)}>Submit</button>
            {text !== start && <button type="button" onClick={() => setText(start)}>Undo all changes</button>}
            <a class="button" href={back}>Go back</a>
          </div>
        </div>
        <Check answer={answer} local={local} doubt={doubt} what="this experiment" />
      </form>
    </div>
  );
}

export function ContinueExperiment({ params: { id: text } }: { params: Record<string, string> }) {
  const id = Number(text);
  useTitle(`Continue experiment ${text}`);
  const loaded = useLoad((signal) => api.experiment(id, signal), [id]);
  const e = loaded.data?.experiment;
  if (!e) return <Missing what={`experiment ${text}`} loaded={loaded} />;
  if (!ended(e.state)) return <Empty alone title={`Experiment ${e.id} has not ended.`}><p>Only an experiment that has ended can be continued. <a href={`/experiments/${e.id}`}>Back to it</a></p></Empty>;
  return <Continue e={e} />;
}

function Continue({ e }: { e: Experiment }) {
  const length = e.config.searcher?.max_length;
  const [text, setText] = useState(() => (e.state.endsWith('COMPLETED') && length !== undefined ? write({ searcher: { max_length: length } }) : ''));
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState('');
  const local = read(text).problem ?? '';
  const act = async (ev: Event) => {
    ev.preventDefault();
    setBusy(true);
    setFailed('');
    try {
      await proceed(text.trim() ? { id: e.id, overrideConfig: text } : { id: e.id });
      say(`Experiment ${e.id} continues`);
      go(`/experiments/${e.id}`);
    } catch (error) {
      setFailed(words(error));
      setBusy(false);
    }
  };
  return (
    <div class="page">
      <p class="crumbs"><a href={`/experiments/${e.id}`}>{e.id} {e.name}</a> <span aria-hidden="true">/</span> Continue</p>
      <div class="head"><h1>Continue experiment {e.id}</h1></div>
      <p class="lead">The same experiment trains on, each trial from its last checkpoint. What you write here goes over its configuration: {e.state.endsWith('COMPLETED') ? 'it reached its length, so give it a greater one.' : 'leave it empty to try again as it was.'}</p>
      <form class="stack narrow-form" onSubmit={act}>
        <Editor label="what to change of the configuration" value={text} change={setText} wrong={!!local} rows={8} />
        {local && <p class="said bad">{local}</p>}
        {failed && <p class="problem" role="alert">{failed}</p>}
        <div class="row">
          <button type="submit" class="main" disabled={busy || !!local}>Continue</button>
          <a class="button" href={`/experiments/${e.id}`}>Go back</a>
        </div>
      </form>
    </div>
  );
}
