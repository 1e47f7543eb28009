import { expect, test } from 'vitest';
import { boundedBy, boundOf, levelOf, measureOf, measures } from '../src/lib/quotas';
import type { Quota } from '../src/lib/types';

const quota = (part: Partial<Quota>): Quota => ({
  id: 1, workspaceId: 0, workspaceName: '', projectId: 0, projectName: '', userId: 0, username: '', resourcePool: '', measure: 'slots', period: '', soft: null, hard: null, used: 0,
  periodStart: null, periodEnd: null, measuredTime: null, ...part,
});

test('a quota says whom it bounds', () => {
  const vision = { workspaceId: 2, workspaceName: 'vision' };
  expect(boundedBy(quota(vision))).toBe('workspace vision');
  expect(boundedBy(quota({ ...vision, projectId: 3, projectName: 'base' }))).toBe('project base of vision');
  expect(boundedBy(quota({ ...vision, userId: 4, username: 'ben' }))).toBe('ben in workspace vision');
  expect(boundedBy(quota({ userId: 4, username: 'ben' }))).toBe('ben in all workspaces');
});

test.each([
  [0, 8, 16, { used: 0, soft: 0.5, state: 'within' }],
  [8, 8, 16, { used: 0.5, soft: 0.5, state: 'within' }],
  [9, 8, 16, { used: 9 / 16, soft: 0.5, state: 'over soft' }],
  [16, 8, 16, { used: 1, soft: 0.5, state: 'full' }],
  [20, null, 16, { used: 1, soft: null, state: 'full' }],
  [5, 4, null, { used: 1, soft: null, state: 'over soft' }],
  [0, null, 0, { used: 0, soft: null, state: 'full' }],
  [2, 16, 16, { used: 0.125, soft: null, state: 'within' }],
])('%d used of soft %s and hard %s', (used, soft, hard, want) => {
  expect(levelOf({ used, soft, hard })).toEqual(want);
});

test('each measure is read back', () => {
  for (const m of measures) expect(measureOf(quota({ measure: m.measure, period: m.period }))).toBe(m);
});

test('a bound is a whole number or nothing', () => {
  expect(boundOf('Soft', '')).toBeNull();
  expect(boundOf('Soft', '0')).toBe(0);
  expect(boundOf('Soft', '1000000')).toBe(1_000_000);
  for (const wrong of ['-1', '1.5', '1e3', 'x', '1000001', ' ']) expect(() => boundOf('Soft bound', wrong)).toThrow('Soft bound');
});
