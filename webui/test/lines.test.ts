import { describe, expect, it } from 'vitest';
import type { Compared } from '../src/lib/compare';
import { labelsOf, linesOf, partOf, showOf, titleOf } from '../src/lib/lines';
import { families, type Key } from '../src/lib/series';

const k = (trial: number, group: string, name: string): Key => ({ trial, group, name });
const told = (keys: Key[]) => keys.map((x) => `${x.trial} ${x.group} ${x.name}`);

describe('the chart of a metric of several trials', () => {
  const keys = families([k(7, 'training', 'loss'), k(7, 'validation', 'val_loss'), k(3, 'training', 'loss'), k(3, 'validation', 'val_loss')], 'val_loss')[0]!.keys;

  it('draws both groups, in the order of the trials', () => {
    expect(told(linesOf(keys, [7, 3], 'both', undefined, 50))).toEqual(['7 training loss', '7 validation val_loss', '3 training loss', '3 validation val_loss']);
    expect(told(linesOf(keys, [7, 3], 'both', 7, 50))).toEqual(['3 training loss', '3 validation val_loss', '7 training loss', '7 validation val_loss']);
  });
  it('or the chosen one, and what has only one group always', () => {
    expect(told(linesOf(keys, [7, 3], 'training', undefined, 50))).toEqual(['7 training loss', '3 training loss']);
    const alone = keys.filter((x) => x.group === 'training');
    expect(linesOf(alone, [7, 3], 'validation', undefined, 50)).toHaveLength(2);
    expect(linesOf(alone, [7, 3], 'both', undefined, 1)).toHaveLength(1);
  });
  it('is named after the metrics that it draws', () => {
    expect(titleOf(keys)).toBe('loss, val_loss');
    expect(titleOf(linesOf(keys, [7, 3], 'validation', undefined, 50))).toBe('val_loss');
    expect(titleOf([k(1, 'training', 'loss'), k(1, 'validation', 'loss')])).toBe('loss');
    expect(titleOf([k(1, 'gpu', 'util')])).toBe('gpu.util');
  });
  it('says which line is which', () => {
    expect(keys.map((x) => partOf(x, keys))).toEqual(['training', 'training', 'validation', 'validation']);
    expect(partOf(keys[0]!, [keys[0]!])).toBe('');
    const two = [k(1, 'training', 'loss'), k(1, 'training', 'train_loss'), k(1, 'validation', 'loss')];
    expect(two.map((x) => partOf(x, two))).toEqual(['training loss', 'training train_loss', 'validation']);
  });
  it('has both groups while there are few trials, unless somebody chose', () => {
    expect([showOf(null, 4), showOf(null, 5), showOf('training', 50), showOf('both', 50), showOf('x', 2)]).toEqual(['both', 'validation', 'training', 'both', 'both']);
  });
});

it('trials have the names of their experiments', () => {
  const c = (trial: number, id: number, name: string) => ({ trial: { id: trial }, experiment: { id, name } }) as unknown as Compared;
  expect([...labelsOf([c(9, 2, 'mnist'), c(4, 1, 'search'), c(5, 1, 'search')])]).toEqual([[9, '2 mnist'], [4, '1 search, trial 4'], [5, '1 search, trial 5']]);
  expect(labelsOf([c(1, 1, 'x'.repeat(200))]).get(1)).toBe(`1 ${'x'.repeat(39)}…`);
});
