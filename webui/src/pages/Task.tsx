// The page of a task that is not a trial: its state and its log.
import { useEffect, useState } from 'preact/hooks';
import { api, ApiError, taskKinds, type TaskKind } from '../lib/api';
import { complain, say } from '../lib/toast';
import { treeOf, type Place } from '../lib/tree';
import { follow, often } from '../lib/live';
import { useLoad, useNow } from '../lib/load';
import { bare, ended } from '../lib/states';
import { Began, Confirm, Copy, Empty, Loading, Problem, State, Tabs, type Question } from '../parts/bits';
import { Nomad } from '../parts/Nomad';
import { LogView } from '../parts/LogView';
import { Notice } from '../parts/Notice';
import { lazy } from '../lib/lazy';
import { link, params } from '../lib/router';
import { me } from '../lib/session';
import { useTitle } from '../parts/Shell';
import { noteOpening } from '../lib/opening';
import { logOfTask } from '../lib/logs';
import { killQuestion, kindNames, openAddress, stateOf, type Listed } from './Tasks';

const Terminal = lazy(() => import('../parts/Terminal').then((m) => m.Terminal));

export function TaskPage({ params: { id = '' } }: { params: Record<string, string> }) {
  const now = useNow();
  const [question, setQuestion] = useState<Question | null>(null);
  const terminal = params.value.get('view') === 'terminal';
  const [address, setAddress] = useState(''); // for programs
  const [entered, setEntered] = useState(false); // the terminal goes on while its reader looks at the log
  const loaded = useLoad(async (signal) => {
    const task = await api.task(id, signal);
    const newest = (await api.taskAttempts(id, signal)).attempts[0];
    const kind = `${task.taskType.replace('TASK_TYPE_', '').toLowerCase()}s` as TaskKind;
    if (task.taskType === 'TASK_TYPE_GENERIC') {
      const tree = treeOf((await api.tasks('generics', signal)).map((t): Listed => ({ ...t, kind: 'generics' })), id);
      return { task, tree, listed: tree.find((p) => p.item.id === id)?.item, newest };
    }
    const listed = taskKinds.includes(kind) ? ({ ...(await api.oneTask(kind, id, signal)), kind } as Listed) : undefined;
    return { task, listed, newest };
  }, [id]);
  useEffect(() => {
    const look = often(loaded.reload, 700);
    return follow({ onLook: (l) => (l.what.includes('tasks') || l.what.includes('queue')) && look() });
  }, [id]);
  const t = loaded.data?.listed;
  const runs = t?.kind === 'shells' && bare(t.state) === 'RUNNING';
  useEffect(() => {
    if (terminal && runs) setEntered(true);
  }, [terminal, runs]);
  useTitle(t ? t.description || id : 'Task');

  if (!loaded.data) {
    if (loaded.error instanceof ApiError && loaded.error.status === 404) return <Empty alone title="There is no such task."><p>Tasks that ended long ago are removed. <a href="/tasks">All tasks</a></p></Empty>;
    return loaded.error ? <Problem alone what="Could not load the task." error={loaded.error} retry={loaded.reload} /> : <Loading />;
  }
  const attempt = loaded.data.task.allocations[0];
  const over = t ? ended(t.state) : !!attempt?.endTime;
  const to = t && openAddress(t);
  const tree = loaded.data.tree ?? [];
  const paused = t?.taskState?.endsWith('PAUSED');
  const stopping = t?.taskState?.includes('STOPPING'); // its attempt has not ended yet: the master rejects Pause and Unpause
  const pause = async () => {
    try {
      await api.pauseTask(id, !paused);
      say(paused ? 'The task continues' : 'The task is being paused');
    } catch (error) {
      complain(paused ? 'Unpause' : 'Pause', error);
    }
    loaded.reload();
  };
  const showAddress = async () => {
    try {
      setAddress(await api.taskAddress(id));
    } catch (error) {
      complain('The address', error);
    }
  };
  return (
    <div class="page full">
      <p class="crumbs"><a href="/tasks">Tasks</a> <span aria-hidden="true">/</span> {t ? kindNames[t.kind] : loaded.data.task.taskType}</p>
      <div class="head">
        <h1>{t?.description || id}</h1>
        {t && <State state={stateOf(t)} />}
        {t && <span class="faint">{t.displayName || t.username}, {t.resourcePool}, <Began of={{ ...t, state: stateOf(t) }} now={now} /></span>}
        <span class="grow" />
        {to && t.kind !== 'shells' && <a class="button main" href={to} target="_blank" rel="noreferrer" onClick={() => noteOpening(id)}>Open</a>}
        {t?.kind === 'notebooks' && !over && !address && <button type="button" onClick={() => void showAddress()}>Use in an editor</button>}
        {t?.kind === 'generics' && !over && <button type="button" disabled={stopping} onClick={() => void pause()}>{paused ? 'Unpause' : 'Pause'}</button>}
        {t?.kind === 'generics' && !over && t.userId === me.value?.id && <a class="button" href={`/launch/generics?parent=${id}`}>New task below</a>}
        {t && !over && <button type="button" class="danger" onClick={() => setQuestion(killQuestion(t, loaded.reload))}>End</button>}
        {t && !over && tree.length > 1 && <button type="button" class="danger" onClick={() => setQuestion(killQuestion(t, loaded.reload, true))}>End the tree</button>}
      </div>
      {!over && attempt?.waitingReason && <Notice kind="wait" title="The task waits" text={attempt.waitingReason} />}
      {over && attempt?.exitReason && <Notice kind={attempt.statusCode ? 'bad' : 'wait'} title="The task ended" text={attempt.exitReason} />}
      {loaded.data.newest && <Nomad attempt={loaded.data.newest} />}
      {address && !over && (
        <div class="lead" role="status">
          <p>The address of a Jupyter server for VS Code, PyCharm and other editors. Whoever has it can use this notebook until it ends, or until you sign out.</p>
          <p><code class="address">{address}</code> <Copy text={address} what="address" /></p>
        </div>
      )}
      {t?.kind === 'shells' && (entered || !over) && <Tabs items={[{ key: 'log', title: 'Log' }, { key: 'terminal', title: 'Terminal' }]} at={terminal ? 'terminal' : 'log'} href={(key) => link(`/tasks/${id}`, { view: key === 'log' ? '' : key })} />}
      {t?.kind === 'shells' && !over && !terminal && <p class="lead">Open it under Terminal, or from a terminal of your own: <code>det shell open {id}</code></p>}
      {t?.kind === 'shells' && terminal && !entered && <p class="lead" role="status">{over ? 'The shell has ended.' : 'The terminal opens when the shell runs.'}</p>}
      {entered && <Terminal id={id} name={`terminal of ${t?.description || id}`} visible={terminal} />}
      {tree.length > 1 && <Tree tree={tree} at={id} />}
      {!(terminal && entered) && <LogView log={logOfTask(id)} over={over} name={`the log of ${t?.description || id}`} />}
      <Confirm question={question} close={() => setQuestion(null)} />
    </div>
  );
}

// Tree shows the tasks above and below one.
function Tree({ tree, at }: { tree: Place<Listed>[]; at: string }) {
  return (
    <section class="card tree" aria-label="its tree of tasks">
      <ul>
        {tree.map(({ item, depth }) => (
          <li key={item.id} style={{ paddingLeft: `${Math.min(depth, 12) * 1.25}rem` }} aria-current={item.id === at ? 'true' : undefined}>
            {item.id === at ? <b class="cut">{item.description || item.id}</b> : <a class="cut" href={`/tasks/${item.id}`}>{item.description || item.id}</a>}
            <State state={stateOf(item)} />
            {item.noPause && <span class="tag">never paused</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
