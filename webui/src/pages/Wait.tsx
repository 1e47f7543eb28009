// A notebook or TensorBoard that is on its way: its page opens as soon as it answers.
import { useEffect, useState } from 'preact/hooks';
import { api, type TaskKind, type Task } from '../lib/api';
import { ended } from '../lib/states';
import { words } from '../lib/toast';
import { LogView } from '../parts/LogView';
import { Problem, State } from '../parts/bits';
import { useTitle } from '../parts/Shell';

const every = 1000;

export function Wait({ params: { id = '', type = '' } }: { params: Record<string, string> }) {
  const kind: TaskKind = type.startsWith('tensor') ? 'tensorboards' : 'notebooks';
  const [task, setTask] = useState<Task>();
  const [why, setWhy] = useState('');
  const [error, setError] = useState<unknown>();
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
        setWhy(newest?.waitingReason ?? '');
        setError(undefined);
        if (newest?.isReady && t.serviceAddress && !ended(t.state)) {
          location.replace(t.serviceAddress);
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
  }, [id, kind]);

  const over = !!task && ended(task.state);
  return (
    <div class="page full">
      <p class="crumbs"><a href="/tasks">Tasks</a></p>
      <div class="head">
        <h1>{task?.description || id}</h1>
        {task && <State state={task.state} />}
      </div>
      {error !== undefined && <Problem what="Could not load this task." error={error} />}
      {!error && <p class="lead" role="status">{over ? `The task ended${task?.exitStatus ? `: ${task.exitStatus}` : ''}. Start another one.` : why || 'The task is starting. Its page opens here when it is ready.'}</p>}
      {task && <LogView task={id} over={over} name={`the log of ${words(task.description || id)}`} />}
    </div>
  );
}
