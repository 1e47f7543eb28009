// Actions on experiments, and the states in which an experiment allows them.
import { api, type Act } from './api';
import { plural, stateWord } from './format';
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
  { verb: 'unarchive', title: 'Unarchive', done: 'unarchived', fits: (e) => e.archived },
  { verb: 'delete', title: 'Delete', done: 'being deleted', fits: (e) => over(e.state), ask: 'Metrics, logs and checkpoint records are deleted permanently.', danger: true },
];

type Whole = Pick<Experiment, 'id' | 'state' | 'archived'>;

// hindrance returns why an experiment does not allow an action; empty if it allows it.
export function hindrance(action: Action, e: Whole): string {
  if (action.fits(e)) return '';
  const state = stateWord(e.state);
  switch (action.verb) {
    case 'archive':
      return e.archived ? 'is in the archive already' : `is ${state}, and has to end first`;
    case 'unarchive':
      return 'is not in the archive';
    case 'delete':
      return `is ${state}, and has to end first`;
    case 'activate':
      return over(e.state) ? `has ended (${state})` : `is ${state}, and not paused`;
    case 'pause':
      return over(e.state) ? `has ended (${state})` : `is ${state}`;
  }
  return over(e.state) ? `has ended (${state})` : `is ${state}`;
}

const named = 5; // of those that are left out, by their reason

// leftOut lists the experiments that an action leaves out, with the reasons; empty if none.
export function leftOut(action: Action, list: readonly Whole[]): string {
  const reasons = new Map<string, number[]>();
  for (const e of list) {
    const why = hindrance(action, e);
    if (why) reasons.set(why, [...(reasons.get(why) ?? []), e.id]);
  }
  const n = [...reasons.values()].reduce((sum, ids) => sum + ids.length, 0);
  if (!n) return '';
  const parts = [...reasons].map(([why, ids]) => `${ids.slice(0, named).join(', ')}${ids.length > named ? ` and ${ids.length - named} others` : ''} ${ids.length > 1 ? why.replace(/^is /, 'are ').replace(/^has /, 'have ').replace(/, and has /, ', and have ') : why}`);
  return `Left out: ${parts.join('; ')}.`;
}

// perform carries out an action on each experiment, and shows the result.
export async function perform(action: Action, list: readonly Pick<Experiment, 'id' | 'projectId'>[]): Promise<void> {
  const [only] = list;
  try {
    if (!only) return;
    if (list.length === 1) {
      await (action.verb === 'delete' ? api.deleteExperiment(only.id) : api.act(only.id, action.verb));
      say(`Experiment ${only.id} ${action.done}`);
      return;
    }
    const { actOn } = await import('./do');
    const results = await actOn(action.verb, list);
    const wrong = results.filter((r) => r.error);
    if (results.length > wrong.length) say(`${plural(results.length - wrong.length, 'experiment')} ${action.done}`);
    if (wrong.length) complain(`${action.title}: ${plural(wrong.length, 'experiment')} refused`, new Error(wrong.slice(0, 3).map((r) => r.error).join('; ')));
  } catch (error) {
    complain(list.length === 1 ? `${action.title} experiment ${only?.id}` : action.title, error);
  }
}
