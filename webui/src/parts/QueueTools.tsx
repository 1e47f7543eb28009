// Changes the order of the queue, and what it follows from: priority, weight and pool.
import { useState } from 'preact/hooks';
import { changeQueue } from '../lib/do';
import { plural } from '../lib/format';
import { immovable, moves, type Place } from '../lib/queue';
import { complain, say } from '../lib/toast';
import type { Job, QueueControl, ResourcePool } from '../lib/types';
import { Dialog, text } from './Dialog';

const places: { key: Place; title: string }[] = [
  { key: 'front', title: 'To the front' }, { key: 'up', title: 'Up' }, { key: 'down', title: 'Down' }, { key: 'back', title: 'To the back' },
];

interface Props {
  jobs: readonly Job[];
  pools: readonly ResourcePool[];
  selected: ReadonlySet<string>;
  clear: () => void;
  reload: () => void;
}

export function QueueTools({ jobs, pools, selected, clear, reload }: Props) {
  const [open, setOpen] = useState<'change' | 'before' | ''>('');
  const [busy, setBusy] = useState(false);
  const chosen = jobs.filter((j) => selected.has(j.jobId));
  if (!chosen.length) return <span class="faint small">Select jobs to move them or to change their priority.</span>;
  const scheduler = (j: Job) => pools.find((p) => p.name === j.resourcePool)?.schedulerType;
  const stuck = chosen.map((j) => ({ j, why: immovable(j, scheduler(j)) })).filter((x) => x.why);
  const movable = new Set(chosen.filter((j) => !stuck.some((x) => x.j === j)).map((j) => j.jobId));
  const ask = async (updates: QueueControl[]) => {
    if (!updates.length) return say('They are there already');
    setBusy(true);
    try {
      await changeQueue(updates);
      say(`The queue has changed`);
    } catch (error) {
      complain('Change the queue', error);
    } finally {
      setBusy(false);
      reload();
    }
  };
  const others = jobs.filter((j) => !selected.has(j.jobId) && !immovable(j, scheduler(j)) && chosen.every((c) => c.resourcePool === j.resourcePool));
  const number = (form: FormData, name: string) => (text(form, name) === '' ? undefined : Number(text(form, name)));
  const change = async (form: FormData) => {
    const [priority, weight, resourcePool] = [number(form, 'priority'), number(form, 'weight'), text(form, 'pool')];
    const fields = { ...(priority === undefined ? {} : { priority }), ...(weight === undefined ? {} : { weight }), ...(resourcePool ? { resourcePool } : {}) };
    if (!Object.keys(fields).length) throw new Error('Nothing to change: fill in a field.');
    await changeQueue(chosen.map((j) => ({ jobId: j.jobId, ...fields })));
    say(`${plural(chosen.length, 'job')} changed`);
    reload();
  };
  const before = async (form: FormData) => {
    const anchor = text(form, 'anchor');
    await changeQueue(chosen.filter((j) => movable.has(j.jobId)).map((j) => ({ jobId: j.jobId, aheadOf: anchor })));
    say(`${plural(movable.size, 'job')} moved`);
    reload();
  };
  const tasks = chosen.filter((j) => j.type !== 'TYPE_EXPERIMENT');
  return (
    <div class="bulk" role="toolbar" aria-label="actions on the selected jobs">
      <strong>{selected.size} selected</strong>
      {places.map((p) => <button key={p.key} type="button" disabled={busy || movable.size === 0} onClick={() => void ask(moves(jobs, movable, p.key))}>{p.title}</button>)}
      <button type="button" disabled={busy || movable.size === 0 || others.length === 0} onClick={() => setOpen('before')}>Before…</button>
      <button type="button" disabled={busy} onClick={() => setOpen('change')}>Priority, weight, pool…</button>
      <button type="button" class="quiet" onClick={clear}>Clear</button>
      {stuck.length > 0 && <span class="faint small">{stuck.length === chosen.length ? 'Cannot move: ' : `${stuck.length} of them cannot move: `}{[...new Set(stuck.map((x) => x.why))].join('; ')}.</span>}
      <Dialog title={`Change ${plural(chosen.length, 'job')}`} open={open === 'change'} yes="Change" close={() => setOpen('')} act={change}>
        <label>Priority<input name="priority" type="number" min={1} max={99} defaultValue={chosen.length === 1 ? chosen[0]!.priority : ''} placeholder="as it is; 1 is first" /></label>
        <label>Weight<input name="weight" type="number" min={0} step="any" placeholder={tasks.length ? 'only experiments have one' : 'as it is'} disabled={tasks.length > 0} value={chosen.length === 1 && !tasks.length ? chosen[0]!.weight : ''} /></label>
        <label>Pool
          <select name="pool">
            <option value="">as it is{chosen.length === 1 ? ` (${chosen[0]!.resourcePool})` : ''}</option>
            {pools.filter((p) => chosen.length > 1 || p.name !== chosen[0]!.resourcePool).map((p) => <option key={p.name} value={p.name}>{p.name}</option>)}
          </select>
        </label>
        <p class="faint small">An experiment that runs saves a checkpoint and goes on in the other pool; other tasks can change their pool only while they wait.</p>
      </Dialog>
      <Dialog title={`Move ${plural(movable.size, 'job')} before another`} open={open === 'before'} yes="Move" close={() => setOpen('')} act={before}>
        <label>Before<select name="anchor">{others.map((j) => <option key={j.jobId} value={j.jobId}>{j.name} ({j.username}, priority {j.priority})</option>)}</select></label>
        <p class="faint small">They get the priority of that job.</p>
      </Dialog>
    </div>
  );
}
