// Quotas: whom they bound, how much is used of them, and requests that change them.
import { call, whole } from './api';
import { deleteQuota, listQuotas, putQuota, type PutQuotaRequest, type Quota } from './types';

export const quotas = {
  all: (signal?: AbortSignal): Promise<Quota[]> => whole(async (query) => { const { quotas: rows, pagination } = await call(listQuotas, { query, signal }); return { rows, pagination }; }),
  set: (body: PutQuotaRequest) => call(putQuota, { body }),
  remove: (id: number) => call(deleteQuota, { path: [id] }),
};

// boundedBy names what a quota bounds: workspace vision; ben in workspace vision; ben everywhere.
export function boundedBy(q: Quota): string {
  const where = q.projectId ? `project ${q.projectName} of ${q.workspaceName}` : q.workspaceId ? `workspace ${q.workspaceName}` : 'all workspaces';
  return q.userId ? `${q.username} in ${where}` : where;
}

export const measures = [
  { key: 'slots', title: 'slots at the same time', measure: 'slots', period: '' },
  { key: 'cpus', title: 'processors at the same time', measure: 'cpus', period: '' },
  { key: 'memory', title: 'GiB of memory at the same time', measure: 'memory', period: '' },
  { key: 'day', title: 'slot-hours of each day', measure: 'slot_hours', period: 'day' },
  { key: 'week', title: 'slot-hours of each week', measure: 'slot_hours', period: 'week' },
  { key: 'month', title: 'slot-hours of each month', measure: 'slot_hours', period: 'month' },
  { key: 'total', title: 'slot-hours in total', measure: 'slot_hours', period: 'total' },
] as const;
export type Measure = (typeof measures)[number];

export const measureOf = (q: Pick<Quota, 'measure' | 'period'>): Measure => measures.find((m) => m.measure === q.measure && m.period === q.period) ?? measures[0];

// A Level is how full a quota is: the part of its larger bound, and where the soft one is.
export interface Level {
  used: number; // 0 to 1
  soft: number | null; // place of the soft bound, if the hard one is larger
  state: 'within' | 'over soft' | 'full';
}

export function levelOf(q: Pick<Quota, 'used' | 'soft' | 'hard'>): Level {
  const most = q.hard ?? q.soft ?? 0;
  const part = (v: number) => (most > 0 ? Math.min(1, Math.max(0, v / most)) : v > 0 ? 1 : 0);
  // A bound of nothing is full from the beginning.
  const state = q.hard !== null && q.used >= q.hard ? 'full' : q.soft !== null && q.used > q.soft ? 'over soft' : 'within';
  return { used: part(q.used), soft: q.soft !== null && q.hard !== null && q.soft < q.hard ? part(q.soft) : null, state };
}

// boundOf reads a field of the form: empty means no bound.
export function boundOf(name: string, text: string): number | null {
  if (text === '') return null;
  const n = Number(text);
  if (!/^\d+$/.test(text) || n > 1_000_000) throw new Error(`${name}: enter a whole number from 0 to 1,000,000, or nothing.`);
  return n;
}
