// The order of the queue: the requests that move jobs to a place.
import type { ExpectedEnd, Job, QueueControl, RBACJob } from './types';

// inQueue is a job as the pages show it. One that its reader may not see has a place, slots and a priority, and no names.
export function inQueue({ full, limited }: RBACJob): Job[] {
  if (full) return [full];
  if (!limited) return [];
  return [{ ...limited, entityId: '', name: '', username: '', userId: 0, submissionTime: '', waitingReason: '', estimatedStart: null, startUnknown: '', expectedEnd: null }];
}

// endsIn says when an attempt ends, in a unit in which both ends of the interval can be told apart: in 12–18 min.
export function endsIn(e: Pick<ExpectedEnd, 'earliest' | 'latest'>, now: number): string {
  const minutes = (iso: string) => Math.max(0, (Date.parse(iso) - now) / 60_000);
  const [from, to] = [minutes(e.earliest), minutes(e.latest)];
  if (to <= 1) return 'within 1 min';
  const [unit, name] = to >= 72 * 60 ? [24 * 60, 'days'] : to >= 180 ? [60, 'h'] : [1, 'min'];
  const number = (m: number) => String(unit > 1 && m / unit < 10 ? Math.round((10 * m) / unit) / 10 : Math.round(m / unit));
  const [least, most] = [number(from), number(to)];
  if (least === '0') return `within ${most} ${name}`;
  return least === most ? `in ${most} ${name}` : `in ${least}–${most} ${name}`;
}

export const hidden = (j: Job): boolean => !j.entityId;

export type Place = 'front' | 'up' | 'down' | 'back';

export const waits = (j: Job): boolean => j.summary?.state === 'STATE_QUEUED';

// stateOf is the state of a job: placed jobs run, and the others wait.
export const stateOf = (j: Job): string => (j.summary?.state === 'STATE_SCHEDULED' ? 'STATE_RUNNING' : j.summary?.state ?? '');

// placeOf is the place of a waiting job in its pool's queue, from 1; null: it runs, or its pool has no order.
export const placeOf = (j: Job): number | null => (waits(j) && j.summary!.jobsAhead >= 0 ? j.summary!.jobsAhead + 1 : null);

// immovable returns why a job cannot be moved; empty if it can.
export function immovable(job: Job, scheduler: string | undefined): string {
  if (!waits(job)) return 'already running';
  if (hidden(job)) return 'it belongs to others';
  if (scheduler && scheduler !== 'SCHEDULER_TYPE_PRIORITY' && scheduler !== 'priority') return `pool ${job.resourcePool} has no order: its scheduler shares the slots`;
  return '';
}

// moves returns the requests, in their order, that move waiting jobs of one pool to a place. The
// order among these jobs does not change.
export function moves(queue: readonly Job[], ids: ReadonlySet<string>, place: Place): QueueControl[] {
  const updates: QueueControl[] = [];
  for (const pool of new Set(queue.map((j) => j.resourcePool))) {
    const line = queue.filter((j) => j.resourcePool === pool && waits(j) && !hidden(j));
    const mine = line.filter((j) => ids.has(j.jobId));
    const others = line.filter((j) => !ids.has(j.jobId));
    if (!mine.length || !others.length) continue;
    const ahead = (anchor: Job) => mine.forEach((j) => updates.push({ jobId: j.jobId, aheadOf: anchor.jobId }));
    const behind = (anchor: Job) => mine.slice().reverse().forEach((j) => updates.push({ jobId: j.jobId, behindOf: anchor.jobId }));
    if (place === 'front' && line[0] !== mine[0] || place === 'front' && mine.some((j, i) => line[i] !== j)) ahead(others[0]!);
    if (place === 'back' && mine.some((j, i) => line[line.length - mine.length + i] !== j)) behind(others.at(-1)!);
    if (place === 'up') {
      const before = line.slice(0, line.indexOf(mine[0]!)).at(-1);
      if (before) ahead(before);
    }
    if (place === 'down') {
      const after = line.slice(line.indexOf(mine.at(-1)!) + 1)[0];
      if (after) behind(after);
    }
  }
  return updates;
}
