import { expect, it } from 'vitest';
import { valuesOf } from '../src/lib/values';

it('texts and lists of metrics are shown with their batch, within bounds', () => {
  const summary = {
    avg_metrics: { loss: { type: 'number', last: 1 }, text: { type: 'string', last: 'hello', batches: 3, count: 2 }, long: { type: 'string', last: null }, wide: { type: 'string', last: 'x'.repeat(4000) } },
    validation_metrics: { conf: { type: 'array', last: [1, 2, 3], batches: 40 }, ok: { type: 'boolean', last: true } },
    gpu: null,
  };
  expect(valuesOf(summary)).toEqual({ more: 0, list: [
    { name: 'training long', text: 'too long to be shown', batches: null }, { name: 'training text', text: 'hello', batches: 3 }, { name: 'training wide', text: `${'x'.repeat(300)}…`, batches: null },
    { name: 'validation conf', text: '[1,2,3]', batches: 40 }, { name: 'validation ok', text: 'true', batches: null },
  ] });
  const many = valuesOf({ g: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`m${i}`, { type: 'string', last: 'a' }])) });
  expect([many.list.length, many.more]).toEqual([20, 30]);
  expect(valuesOf(null)).toEqual({ list: [], more: 0 });
});
