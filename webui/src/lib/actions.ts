// What can be done with experiments, and to which of them.
import { api, type Act } from './api';
import { plural } from './format';
import { complain, say } from './toast';
import { bare, ended } from './states';
import type { Experiment } from './types';

export interface Action {
  verb: Act | 'delete';
  title: string;
  done: string;
  fits: (e: Pick<Experiment, 'state' | 'archived'>) => boolean;
  ask?: string; // a question before it is done
  danger?: boolean;
}

const running = (state: string) => ['ACTIVE', 'QUEUED', 'PULLING', 'STARTING', 'RUNNING'].includes(bare(state));
const paused = (state: string) => bare(state) === 'PAUSED';
const over = (state: string) => ended(state);

export const actions: Action[] = [
  { verb: 'pause', title: 'Pause', done: 'paused', fits: (e) => running(e.state) },
  { verb: 'activate', title: 'Activate', done: 'activated', fits: (e) => paused(e.state) },
  { verb: 'cancel', title: 'Cancel', done: 'being canceled', fits: (e) => running(e.state) || paused(e.state), ask: 'Trials save a checkpoint and end. They cannot be resumed; a new experiment can start from one of their checkpoints.' },
  { verb: 'kill', title: 'Kill', done: 'being killed', fits: (e) => !over(e.state), ask: 'Trials are killed immediately. Progress since their last checkpoint is lost.', danger: true },
  { verb: 'archive', title: 'Archive', done: 'archived', fits: (e) => over(e.state) && !e.archived },
  { verb: 'unarchive', title: 'Unarchive', done: 'taken out of the archive', fits: (e) => e.archived },
  { verb: 'delete', title: 'Delete', done: 'being deleted', fits: (e) => over(e.state), ask: 'Metrics, logs and checkpoint records are deleted permanently.', danger: true },
];

// perform does it to each, and tells how it went.
export async function perform(action: Action, ids: readonly number[]): Promise<void> {
  let done = 0;
  for (const id of ids) {
    try {
      await (action.verb === 'delete' ? api.deleteExperiment(id) : api.act(id, action.verb));
      done++;
    } catch (error) {
      complain(`${action.title} experiment ${id}`, error);
    }
  }
  if (done) say(`${ids.length === 1 ? `Experiment ${ids[0]}` : plural(done, 'experiment')} ${action.done}`);
}
