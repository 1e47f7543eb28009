// A notebook or TensorBoard that is on its way: its page opens as soon as it answers, if the user has asked for it.
import { useEffect, useState } from 'preact/hooks';
import { api, type TaskKind, type Task } from '../lib/api';
import { wasOpened } from '../lib/opening';
import { ended } from '../lib/states';
import { words } from '../lib/toast';
import { logOfTask } from '../lib/logs';
import { LogView } from '../parts/LogView';
import { Problem, State } from '../parts/bits';
import { useTitle } from '../parts/Shell';

const every = 1000;
const pause = 700; // milliseconds before the button appears: a click that was made for another page does not hit it

export function Wait({ params: { id = '', type = '' } }: { params: Record<string, string> }) {
  const kind: TaskKind = type.startsWith('tensor') ? 'tensorboards' : 'notebooks';
  const [task, setTask] = useState<Task>();
  const [why, setWhy] = useState('');
  const [error, setError] = useState<unknown>();
  const [asked, setAsked] = useState(() => wasOpened(id));
  useTitle('Starting');

  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      try {
        const [t, attempts] = await Promise.all([api.oneTask(kind, id, stop.signal), api.task(id, stop.signal)]);
        if (stop.signal.aborted) return;
        const newest = attempts.allocations[0];
        setTask(t);
        setWhy(newest?.isReady ? '' : newest?.waitingReason ?? '');
        setError(undefined);
        // A link with a ticket and not the task's path: the master cannot see that its user has opened that, because
        // this page, and no click, leads there.
        if (asked && newest?.isReady && !ended(t.state)) {
          const link = await api.taskLink(id);
          if (!stop.signal.aborted) location.replace(link);
          return;
        }
        if (ended(t.state)) return;
      } catch (problem) {
        if (stop.signal.aborted) return;
        setError(problem);
      }
      timer = setTimeout(look, every);
    };
    void look();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [id, kind, asked]);

  const over = !!task && ended(task.state);
  return (
    <div class="page full">
      <p class="crumbs"><a href="/tasks">Tasks</a></p>
      <div class="head">
        <h1>{task?.description || id}</h1>
        {task && <State state={task.state} />}
      </div>
      {error !== undefined && <Problem what="Could not open this task." error={error} />}
      {!error && <p class="lead" role="status">{over ? `The task ended${task?.exitStatus ? `: ${task.exitStatus}` : ''}. Start another one.` : why || (asked ? 'The task is starting. Its page opens here when it is ready.' : 'Its page opens here when it is ready and you have asked for it.')}</p>}
      {task && !over && !asked && <Ask task={task} agree={() => setAsked(true)} />}
      {task && <LogView log={logOfTask(id)} over={over} name={`the log of ${words(task.description || id)}`} />}
    </div>
  );
}

// Ask asks the user, because any page can lead to this one, and a task's page controls the browser in which it opens.
function Ask({ task, agree }: { task: Task; agree: () => void }) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    // The time begins anew when the window comes to the front: until then nobody has seen the button.
    const begin = () => {
      clearTimeout(timer);
      setShown(false);
      if (document.visibilityState === 'visible') timer = setTimeout(() => setShown(true), pause);
    };
    begin();
    document.addEventListener('visibilitychange', begin);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', begin);
    };
  }, []);
  return (
    <p class="row">
      <button type="button" class="main" disabled={!shown} onClick={agree}>Open it</button>
      <span class="faint">A task of {task.displayName || task.username}. Open it only if you meant to: another page may have sent you here.</span>
    </p>
  );
}
