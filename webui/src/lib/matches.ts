// All experiments that match, not only those on the screen.
import { api, type Query } from './api';
import type { Experiment } from './types';

export const maxMatches = 10_000;
const lot = 500;

// matches reads a list to its end, or to its limit. If an entry appears twice, because the list changes
// while it is read, it is kept once.
export async function matches(query: Query, signal?: AbortSignal, progress?: (n: number, total: number) => void): Promise<Experiment[]> {
  const found = new Map<number, Experiment>();
  for (let offset = 0; offset < maxMatches; offset += lot) {
    const answer = await ('query' in query ? api.search : api.experiments)({ ...query, offset, limit: lot, withoutConfig: true }, signal);
    for (const e of answer.experiments) found.set(e.id, e);
    progress?.(found.size, answer.pagination.total);
    if (offset + lot >= answer.pagination.total || answer.experiments.length === 0) break;
  }
  return [...found.values()];
}
