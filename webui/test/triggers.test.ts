import { describe, expect, it } from 'vitest';
import { metricTrigger, said, triggersOf } from '../src/lib/triggers';

describe('the triggers of a webhook', () => {
  it('are made of what was filled in', () => {
    const list = triggersOf({ states: ['COMPLETED', 'ERROR'], pattern: 'CUDA', metric: 'training/loss < 1e-3', custom: true });
    expect(list.map((t) => [t.triggerType.replace('TRIGGER_TYPE_', ''), t.condition])).toEqual([
      ['EXPERIMENT_STATE_CHANGE', { state: 'COMPLETED' }], ['EXPERIMENT_STATE_CHANGE', { state: 'ERROR' }], ['TASK_LOG', { regex: 'CUDA' }],
      ['METRIC_THRESHOLD_EXCEEDED', { metric: 'loss', group: 'training', below: 0.001 }], ['CUSTOM', {}],
    ]);
    expect(list.map(said)).toEqual(['an experiment is completed', 'an experiment fails', 'a line of a log matches CUDA', 'training/loss < 0.001', 'a program calls it']);
  });
  it('are at least one, and a metric has a limit', () => {
    expect(() => triggersOf({ states: [], pattern: '', metric: '', custom: false })).toThrow('at least one');
    expect(() => triggersOf({ states: [], pattern: '', metric: 'accuracy', custom: false })).toThrow('a limit');
    expect(metricTrigger('accuracy>0.9')).toEqual({ metric: 'accuracy', above: 0.9 });
    expect(metricTrigger('a < b')).toBeNull();
  });
});
