import { describe, expect, it } from 'vitest';
import { importance, minTrials, ranked } from '../src/lib/forest';
import { rowOf, type Row } from '../src/lib/hp';
import { sameLength } from '../src/lib/length';
import type { SearchTrial } from '../src/lib/types';
import world from './fixtures/forest.json';

const row = (id: number, steps: number[], values: number[], batches = steps[steps.length - 1]!): Row => rowOf({
  id, state: 'STATE_COMPLETED', hparams: {}, endTime: null, restarts: 0, batches, stopped: false,
  min: Math.min(...values), max: Math.max(...values), last: values[values.length - 1], steps, values,
} as SearchTrial, true);

describe('what a forest explains of a search', () => {
  const columns = world.columns.map((c) => Float32Array.from(c));
  const all = ranked(Float64Array.from(world.loss)).map((r) => r / (world.loss.length - 1));
  const rows = world.loss.map((v, i) => row(i + 1, [world.length[i]!], [v]));
  const same = sameLength(rows, true, minTrials);
  const explained = [all, same.ranks].map((ranks) => importance({ columns, ranks })!.explained);

  // A forest with the same depth, leaves and columns differs by its seeds, scikit-learn's default one by its deeper trees as well.
  it.each([['of all lengths', explained[0]!, world.explained.all], ['of one length', explained[1]!, world.explained.sameLength]])('is what scikit-learn\'s explains, %s', (_name, got, want) => {
    expect(Math.abs(got - want.alike), `${got}, scikit-learn ${want.alike}`).toBeLessThan(0.03);
    expect(Math.abs(got - want.default), `${got}, scikit-learn ${want.default}`).toBeLessThan(0.06);
  });
  it('grows when trials of other lengths are left out', () => {
    expect([same.length, same.differ, same.trials]).toEqual([200, true, world.length.filter((l) => l === 200).length]);
    expect(explained[1]!).toBeGreaterThan(explained[0]! + 0.1);
  });
});

describe('trials compare at one length', () => {
  it('that half of them reached, by their best value up to there', () => {
    const rows = [row(1, [100, 200, 400], [3, 2.5, 0.1]), row(2, [100, 200], [2, 2.2]), row(3, [100, 199.5], [4, 1]), row(4, [100], [0.5])];
    const got = sameLength(rows, true, 2);
    expect([got.length, got.trials, got.differ]).toEqual([200, 3, true]);
    expect([...got.ranks]).toEqual([1, 0.5, 0, NaN]);
    const three = sameLength(rows, true, 3);
    expect([three.length, three.trials]).toEqual([199.5, 3]);
  });
  it('or the length of all, with equal ranks for equal values', () => {
    const got = sameLength([row(1, [10], [1]), row(2, [10], [1]), row(3, [10], [2])], false, 12);
    expect([got.length, got.trials, got.differ]).toEqual([10, 3, false]);
    expect([...got.ranks]).toEqual([0.75, 0.75, 0]);
    expect(sameLength([], true, 12)).toMatchObject({ trials: 0, differ: false });
  });
});
