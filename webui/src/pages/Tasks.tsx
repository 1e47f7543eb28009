// Notebooks, TensorBoards, shells and commands: open them, read their logs, end them.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { allKinds, api, type AnyKind, type Task } from '../lib/api';
import { reloadOn } from '../lib/live';
import { useLoad, useNow } from '../lib/load';
import { noteOpening } from '../lib/opening';
import { params, setParams } from '../lib/router';
import { me } from '../lib/session';
import { complain, say } from '../lib/toast';
import { bare, ended } from '../lib/states';
import { flatten } from '../lib/tree';
import { Began, Confirm, Empty, Loading, Problem, State, type Question } from '../parts/bits';
import { useTitle } from '../parts/Shell';
import { sorted, sortOf, Table, type Column } from '../parts/Table';

export interface Listed extends Task {
  kind: AnyKind;
}

export const kindNames: Record<AnyKind, string> = {
  generics: 'Generic task',
  notebooks: 'Notebook', tensorboards: 'TensorBoard', shells: 'Shell', commands: 'Command',
};

const maxIndent = 8; // deeper tasks of a tree are not indented further

// stateOf is the state of a task. A paused generic task has no attempt, so only its own state shows the pause.
export function stateOf(t: Task): string {
  const own = t.taskState?.replace('GENERIC_TASK_STATE_', '') ?? '';
  return own && own !== 'ACTIVE' ? own : t.state;
}

// openAddress is where the button Open of a task leads; null for tasks without it, such as commands and ended tasks.
export function openAddress(t: Listed): string | null {
  if (t.kind === 'shells' && !ended(t.state) && (t.userId === me.value?.id || me.value?.admin)) return `/tasks/${t.id}?view=terminal`;
  if (ended(t.state) || (t.kind !== 'notebooks' && t.kind !== 'tensorboards')) return null;
  if (bare(t.state) === 'RUNNING' && t.serviceAddress) return t.serviceAddress;
  return `/wait/${t.kind.slice(0, -1)}/${t.id}`;
}

export function killQuestion(t: Listed, then: () => void, fromRoot = false): Question {
  const name = kindNames[t.kind].toLowerCase();
  return {
    title: `End ${name} ${t.description || t.id.slice(0, 8)}?`,
    text: t.kind === 'generics' ? `Its program is killed immediately, and so are the tasks ${fromRoot ? 'of its whole tree' : 'below it'}.` : t.kind === 'commands' ? 'The program is killed immediately.' : 'Data in its memory is lost; files in mounted folders stay.',
    yes: fromRoot ? 'End the tree' : 'End it',
    danger: true,
    act: async () => {
      try {
        await api.killTask(t.kind, t.id, fromRoot);
        say(`${kindNames[t.kind]} ${t.id.slice(0, 8)} is being ended`);
      } catch (error) {
        complain(`End ${name} ${t.id.slice(0, 8)}`, error);
      }
      then();
    },
  };
}

export function Tasks() {
  useTitle('Tasks');
  const now = useNow();
  const [question, setQuestion] = useState<Question | null>(null);
  const tasks = useLoad(async (signal) => {
    const lists = await Promise.all(allKinds.map((k) => api.tasks(k, signal)));
    return lists.flatMap((list, i) => list.map((t): Listed => ({ ...t, kind: allKinds[i]! })));
  }, []);
  useEffect(() => reloadOn(['tasks', 'queue'], tasks.reload, 700), []);

  const kind = params.value.get('kind') ?? '';
  const startable = kind || 'notebooks';
  const all = params.value.get('over') === '1';
  const sort = sortOf({ key: 'started', desc: true });
  const depths = useRef(new Map<string, number>()).current; // of tasks below others
  const columns: Column<Listed>[] = [
    { key: 'kind', title: 'Kind', width: '7rem', narrow: true, sort: (t) => t.kind, render: (t) => kindNames[t.kind] },
    { key: 'name', title: 'Name', width: 'minmax(9rem, 3fr)', narrow: true, sort: (t) => t.description, render: (t) => <a class="cut" style={{ paddingLeft: `${depths.get(t.id) ?? 0}rem` }} href={`/tasks/${t.id}?kind=${t.kind}`} title={t.description}>{t.description || t.id}</a> },
    { key: 'state', title: 'State', width: '7.75rem', narrow: true, sort: (t) => t.state, render: (t) => <State state={stateOf(t)} /> },
    { key: 'of', title: 'Shows', width: 'minmax(6rem, 1fr)', hidden: kind !== 'tensorboards', render: (t) => <span class="cut faint">{[...(t.experimentIds ?? []).map((i) => `experiment ${i}`), ...(t.trialIds ?? []).map((i) => `trial ${i}`)].join(', ')}</span> },
    { key: 'user', title: 'Owner', width: '7rem', sort: (t) => t.username, render: (t) => <span class="cut">{t.displayName || t.username}</span> },
    { key: 'pool', title: 'Pool', width: '6rem', sort: (t) => t.resourcePool, render: (t) => t.resourcePool },
    { key: 'started', title: 'Started', width: '6rem', sort: (t) => t.startTime, render: (t) => <Began of={{ ...t, state: stateOf(t) }} now={now} /> },
    { key: 'exit', title: 'Exit', width: 'minmax(6rem, 2fr)', hidden: !all, render: (t) => <span class="cut faint" title={t.exitStatus}>{t.exitStatus}</span> },
    { key: 'id', title: 'ID', width: '6rem', hidden: true, render: (t) => <code title={t.id}>{t.id.slice(0, 8)}</code> },
    { key: 'do', title: ' ', width: '8rem', narrow: true, render: (t) => {
      const to = openAddress(t);
      return (
        <span class="row end">
          {to && <a class="button" href={to} target="_blank" rel="noreferrer" onClick={() => noteOpening(t.id)}>Open</a>}
          {!ended(t.state) && <button type="button" class="quiet" onClick={() => setQuestion(killQuestion(t, tasks.reload))}>End</button>}
        </span>
      );
    } },
  ];
  const rows = useMemo(() => {
    const list = sorted((tasks.data ?? []).filter((t) => (!kind || t.kind === kind) && (all || !ended(t.state))), columns, sort);
    return flatten(list);
  }, [tasks.data, kind, all, sort.key, sort.desc]);
  depths.clear();
  for (const r of rows) depths.set(r.item.id, Math.min(r.depth, maxIndent));
  return (
    <div class="page full">
      <div class="head">
        <h1>Tasks</h1>
        <span class="grow" />
        <a class="button main" href={`/launch/${startable}`}>New {kind && kind === startable ? kindNames[kind as AnyKind].replace(/^[NSCG]/, (c) => c.toLowerCase()) : 'task'}</a>
      </div>
      {tasks.error !== undefined && <Problem what="Could not load the tasks." error={tasks.error} retry={tasks.reload} />}
      <Table<Listed> label="tasks" columns={columns} count={rows.length} row={(i) => rows[i]?.item} id={(t) => t.id} sort={sort}
        tools={
          <>
            <span class="choices" role="group" aria-label="kind">
              {['', ...allKinds].map((k) => <button key={k} type="button" class={kind === k ? 'on' : ''} aria-pressed={kind === k} onClick={() => setParams({ kind: k })}>{k ? `${kindNames[k as AnyKind]}s` : 'All'}</button>)}
            </span>
            <label class="choice"><input type="checkbox" checked={all} onChange={() => setParams({ over: all ? '' : 1 })} /> ended too</label>
          </>
        }
        empty={!tasks.data ? (tasks.error ? null : <Loading />) : (
          <Empty title={kind ? `No ${kindNames[kind as AnyKind]} is running.` : 'No task is running.'}>
            <p><a class="button" href={`/launch/${startable}`}>Start one</a></p>
            <p>Or from the command line:</p>
            <pre>{kind === 'tensorboards' ? 'det tensorboard start 1' : kind === 'shells' ? 'det shell start' : kind === 'commands' ? 'det command run hostname' : kind === 'generics' ? 'det task create config.yaml' : 'det notebook start'}</pre>
          </Empty>
        )} />
      <Confirm question={question} close={() => setQuestion(null)} />
    </div>
  );
}
