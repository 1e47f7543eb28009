import { expect, it } from 'vitest';
import { spent, waited } from '../src/lib/waiting';

const now = Date.parse('2026-11-27T12:00:00Z');
const work = (state: string, more: object = {}) => ({ state: `STATE_${state}`, startTime: '2026-11-27T11:59:43Z', duration: 5, ...more });

it('queued work waits, and only running work runs', () => {
  expect(spent(work('QUEUED'), now)).toEqual({ name: 'Waiting for', text: '17s' });
  expect(spent(work('QUEUED', { progress: 0, checkpointCount: 0, bestTrialSearcherMetric: null, totalBatchesProcessed: 0 }), now).name).toBe('Waiting for');
  expect(spent(work('RUNNING'), now)).toEqual({ name: 'Runs for', text: '17s' });
  expect(spent(work('COMPLETED'), now)).toEqual({ name: 'Took', text: '5s' });
  expect(spent(work('PAUSED'), now)).toEqual({ name: 'Age', text: '17s, paused' });
});

it('work that was preempted has not waited since its submission', () => {
  for (const ran of [{ progress: 0.1 }, { checkpointCount: 1 }, { bestTrialSearcherMetric: 0 }, { totalBatchesProcessed: 100 }]) {
    expect(waited(work('QUEUED', ran), now)).toBeNull();
    expect(spent(work('QUEUED', ran), now)).toEqual({ name: 'Age', text: '17s, waits again' });
  }
  expect(waited(work('RUNNING'), now)).toBeNull();
});
