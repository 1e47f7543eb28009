import { expect, test } from 'vitest';
import { extent, spots, within } from '../src/lib/front';

const front = { metrics: ['loss', 'ms'], points: [{ trialId: 1, stepsCompleted: 8, values: [0.5, 10] }, { trialId: 2, stepsCompleted: 8, values: [0.9, 5] }], total: 2, results: 4, keeping: 4 };

test('the scatter has the front, and the newest results of other trials', () => {
  const of = (loss: unknown, ms: unknown) => ({ validation_metrics: { loss: { last: loss }, ms: { last: ms } } });
  const trials = [{ id: 1, summaryMetrics: of(0.7, 20) }, { id: 3, summaryMetrics: of(0.8, 30) }, { id: 4, summaryMetrics: of('NaN', 3) }, { id: 5, summaryMetrics: null }];
  expect(spots(front, trials, 'ms', 'loss')).toEqual([
    { trial: 1, x: 10, y: 0.5, front: true }, { trial: 2, x: 5, y: 0.9, front: true }, { trial: 3, x: 30, y: 0.8, front: false },
  ]);
});

test('a result that is far from the front does not press it into a line', () => {
  const a = extent('ms', [5, 10, 14, 1e6], [5, 10]);
  expect(a.min).toBeLessThan(5);
  expect(a.max).toBeGreaterThan(14);
  expect(a.max).toBeLessThan(30);
  expect(within({ trial: 1, x: 1e6, y: 6, front: false }, a, a)).toBe(false);
  expect(within({ trial: 1, x: 6, y: 6, front: true }, a, a)).toBe(true);
  const one = extent('ms', [3], [3]);
  expect(one.min).toBeLessThan(3);
  expect(one.max).toBeGreaterThan(3);
});
