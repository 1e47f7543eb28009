import { describe, expect, it, test } from 'vitest';
import { endsIn, hidden, immovable, inQueue, moves, placeOf, stateOf, type Place } from '../src/lib/queue';
import type { Job } from '../src/lib/types';

const job = (jobId: string, state = 'STATE_QUEUED', resourcePool = 'a') => ({ jobId, entityId: jobId, resourcePool, summary: { state, jobsAhead: 0 } }) as Job;

// place is what the master makes of the requests, one after the other.
function place(queue: Job[], ids: string[], where: Place): string {
  const order = queue.map((j) => j.jobId);
  for (const u of moves(queue, new Set(ids), where)) {
    order.splice(order.indexOf(u.jobId), 1);
    order.splice(u.aheadOf ? order.indexOf(u.aheadOf) : order.indexOf(u.behindOf!) + 1, 0, u.jobId);
  }
  return order.join('');
}

describe('jobs move in the queue', () => {
  const queue = [...'abcde'].map((id) => job(id));
  it.each<[string, Place, string]>([
    ['d', 'front', 'dabce'], ['bd', 'front', 'bdace'], ['a', 'front', 'abcde'], ['ac', 'front', 'acbde'], ['ab', 'front', 'abcde'],
    ['b', 'back', 'acdeb'], ['bd', 'back', 'acebd'], ['e', 'back', 'abcde'], ['de', 'back', 'abcde'],
    ['c', 'up', 'acbde'], ['cd', 'up', 'acdbe'], ['a', 'up', 'abcde'],
    ['c', 'down', 'abdce'], ['bc', 'down', 'adbce'], ['e', 'down', 'abcde'],
    ['abcde', 'front', 'abcde'],
  ])('%s to the %s: %s', (ids, where, want) => expect(place(queue, [...ids], where)).toBe(want));

  it('past those that wait, in their own pool', () => {
    const mixed = [job('r', 'STATE_SCHEDULED'), job('a'), job('x', 'STATE_QUEUED', 'b'), job('b'), job('y', 'STATE_QUEUED', 'b')];
    expect(moves(mixed, new Set(['b', 'y']), 'front')).toEqual([{ jobId: 'b', aheadOf: 'a' }, { jobId: 'y', aheadOf: 'x' }]);
    expect(moves(mixed, new Set(['r']), 'back')).toEqual([]);
  });
});

it('only what waits has a place', () => {
  const job = (state: string, jobsAhead: number) => ({ jobId: 'a', resourcePool: 'p', summary: { state, jobsAhead } }) as Job;
  expect([job('STATE_QUEUED', 0), job('STATE_QUEUED', 4), job('STATE_QUEUED', -1), job('STATE_SCHEDULED', 0), job('STATE_SCHEDULED', -1)].map(placeOf)).toEqual([1, 5, null, null, null]);
  expect([job('STATE_QUEUED', 0), job('STATE_SCHEDULED', 0)].map(stateOf)).toEqual(['STATE_QUEUED', 'STATE_RUNNING']);
});

it('what cannot move says why', () => {
  expect(immovable(job('a', 'STATE_SCHEDULED'), undefined)).toBe('already running');
  expect(immovable(job('a'), 'SCHEDULER_TYPE_FAIR_SHARE')).toContain('has no order');
  expect(immovable(job('a'), 'SCHEDULER_TYPE_PRIORITY')).toBe('');
});

it('jobs of others are in the queue without names, and are neither moved nor passed', () => {
  const limited = { jobId: 'x', resourcePool: 'a', type: 'TYPE_EXPERIMENT', requestedSlots: 2, allocatedSlots: 0, isPreemptible: true, workspaceId: 0, priority: 42, progress: 0, weight: 1, summary: { state: 'STATE_QUEUED', jobsAhead: 0 } };
  const queue = [...[{ limited }, { full: job('a') }, { full: job('b') }, {}].flatMap(inQueue)];
  expect(queue.map((j) => [j.jobId, hidden(j), j.name ?? ''])).toEqual([['x', true, ''], ['a', false, ''], ['b', false, '']]);
  expect(placeOf(queue[0]!)).toBe(1);
  expect(immovable(queue[0]!, 'priority')).toBe('it belongs to others');
  expect(moves(queue, new Set(['b']), 'front')).toEqual([{ jobId: 'b', aheadOf: 'a' }]);
});

test.each([
  [12 * 60, 18 * 60, 'in 12–18 min'],
  [0, 90 * 60, 'within 90 min'],
  [-5, 30, 'within 1 min'],
  [12 * 60, 12 * 60 + 5, 'in 12 min'],
  [150 * 60, 5 * 3600, 'in 2.5–5 h'],
  [24 * 3600, 100 * 3600, 'in 1–4.2 days'],
])('what ends after %s to %s seconds: %s', (from, to, want) => {
  const now = Date.parse('2026-12-01T00:00:00Z');
  const at = (s: number) => new Date(now + 1000 * s).toISOString();
  expect(endsIn({ earliest: at(from), latest: at(to) }, now)).toBe(want);
});
