import { describe, expect, it } from 'vitest';
import { axesOf, axisOfValues, binBrush, brushOf, cellsOf, chosen, fieldOf, kinds, lengthAxis, metricAxis, parseBrush, place, rowOf, short, ticks, valueAt, type Axis, type Row } from '../src/lib/hp';
import { importance, random } from '../src/lib/forest';
import { early, ladder, lengths, rungAt } from '../src/lib/rungs';
import type { SearchTrial } from '../src/lib/types';

const trial = (id: number, hparams: Record<string, unknown>, min: number | null, batches = 100, state = 'STATE_COMPLETED'): SearchTrial =>
  ({ id, state, hparams, endTime: null, restarts: 0, batches, stopped: false, min, max: min, last: min, steps: [batches], values: min === null ? [] : [min] });
const rows = (list: SearchTrial[]): Row[] => list.map((t) => rowOf(t, true));
const number = (name: string, min: number, max: number, kind: 'number' | 'log' = 'number'): Axis => ({ name, kind, min, max, values: [], clipped: false, whole: false });

describe('axes', () => {
  it('are what differs, with the kind that the configuration says', () => {
    const known = kinds({ lr: { type: 'log', minval: -4, maxval: -1 }, net: { depth: { type: 'int', minval: 1, maxval: 9 }, act: { type: 'categorical', vals: [1, 2] } }, fixed: 3 });
    expect([...known]).toEqual([['lr', 'log'], ['net.depth', 'number'], ['net.act', 'category']]);
    const list = rows([trial(1, { lr: 0.001, net: { depth: 2, act: 2 }, fixed: 3 }, 1), trial(2, { lr: 0.1, net: { depth: 8, act: 1 }, fixed: 3 }, 2)]);
    expect(axesOf(list, known)).toEqual([
      number('lr', 0.001, 0.1, 'log'),
      { name: 'net.act', kind: 'category', min: 0, max: 1, values: ['1', '2'], clipped: false, whole: false },
      { ...number('net.depth', 2, 8), whole: true },
    ]);
  });
  it('also of what some trials lack, and of what nobody declared', () => {
    const list = rows([trial(1, { a: 1 }, 1), trial(2, { a: 1, b: 'x' }, 2), trial(3, { a: 1, c: 1e-6 }, 3), trial(4, { a: 1, c: 1 }, 3)]);
    expect(axesOf(list, new Map()).map((a) => [a.name, a.kind])).toEqual([['b', 'category'], ['c', 'log']]);
  });
  it('place values, and take places back', () => {
    expect(place(number('a', 0, 10), 5)).toBe(0.5);
    expect(place(number('a', 0, 10), 99)).toBe(1);
    expect(place(number('a', 0.001, 10, 'log'), 0.1)).toBeCloseTo(0.5);
    expect(place(number('a', 0.001, 10, 'log'), -1)).toBeNaN();
    expect(place(number('a', 3, 3), 3)).toBe(0.5);
    expect(place(number('a', 0, 1), 'NaN')).toBeNaN();
    expect(valueAt(number('a', 0.001, 10, 'log'), 0.5)).toBeCloseTo(0.1);
  });
  it('are not pressed together by values far out', () => {
    const values = [...Array.from({ length: 100 }, (_, i) => i / 100), 1e9];
    expect(axisOfValues('loss', values)).toMatchObject({ min: 0, clipped: true });
    expect(axisOfValues('loss', values).max).toBeLessThan(3);
    expect(axisOfValues('loss', values, true)).toMatchObject({ kind: 'log', min: 0.01, max: 1e9, clipped: false });
    expect(axisOfValues('loss', [null, null])).toMatchObject({ min: 0, max: 1 });
  });
  it('have few round ticks', () => {
    expect(ticks(number('a', 0, 1), 4).map((t) => t.value)).toEqual([0, 0.5, 1]);
    expect(ticks(number('a', 1e-4, 1e-1, 'log'), 6).map((t) => t.value)).toEqual([1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1]);
    expect(ticks(number('a', 7, 7), 4)).toEqual([{ at: 0.5, value: 7 }]);
    expect(ticks(number('a', 1e-300, 1e300, 'log'), 6).length).toBeLessThan(12);
  });
});

describe('a brush', () => {
  const list = rows([trial(1, { lr: 0.1, opt: 'sgd' }, 0.5), trial(2, { lr: 0.2, opt: 'adam' }, 0.4), trial(3, { lr: 0.3, opt: 'adam' }, null)]);
  const axes = [...axesOf(list, new Map()), axisOfValues(metricAxis, list.map((r) => r.value))];
  const field = fieldOf(list, axes, true);
  it('chooses what is within all its parts', () => {
    expect([...chosen(field, {}).mark]).toEqual([1, 1, 1]);
    expect([...chosen(field, { lr: [0.15, 0.35] }).mark]).toEqual([0, 1, 1]);
    expect([...chosen(field, { lr: [0.15, 0.35], opt: ['sgd'] }).mark]).toEqual([0, 0, 0]);
    expect([...chosen(field, { opt: ['adam'] }).mark]).toEqual([0, 1, 1]);
    expect([...chosen(field, { [metricAxis]: [0, 1] }).mark]).toEqual([1, 1, 0]);
    expect(chosen(field, { gone: [0, 1] }).count).toBe(3);
    for (const outside of [[-5, 0.05], [0.5, 9]] as [number, number][]) expect(chosen(field, { lr: outside }).count).toBe(0);
    expect(chosen(field, { lr: [-5, 9] }).count).toBe(3);
  });
  it('of two places is a range, or the categories between', () => {
    expect(brushOf(number('a', 0, 10), 0.7, 0.2)).toEqual([2, 7]);
    expect(brushOf(axes[1]!, 0.6, 2)).toEqual(['sgd']);
  });
  it('travels in an address, whatever somebody made of it', () => {
    expect(parseBrush(short({ lr: [0.123456789, 1], opt: ['a,b'] }))).toEqual({ lr: [0.12346, 1], opt: ['a,b'] });
    expect(short({})).toBe('');
    for (const bad of ['{', '[1]', '{"a":[1,"x"]}', '{"a":3}', 'null', '"x"']) expect(parseBrush(bad)).toEqual({});
  });
  it('of a cell is what is in the cell', () => {
    const cells = cellsOf(field, 0, 1, new Uint8Array([1, 1, 1]));
    expect(cells.map((c) => [c.x, c.y, c.count, c.value])).toEqual([[0, 1, 1, 0.5], [6, 0, 1, 0.4], [11, 0, 1, null]]);
    expect(binBrush(axes[1]!, 0)).toEqual(['adam']);
    expect(binBrush(number('a', 0, 12), 3)).toEqual([3, 4]);
    expect(binBrush({ ...number('a', 2, 8), whole: true }, 3)).toEqual([4.6, 5.4]);
  });
  it('ranks the trials, and leaves out those without a value', () => {
    expect([...field.rank]).toEqual([1, 0, NaN]);
    expect(field.best).toBe(1);
    expect(fieldOf(list, axes, false).best).toBe(0);
    expect(fieldOf([], [], true).best).toBe(-1);
  });
  it('bears ten thousand trials within a frame', () => {
    const next = random(7);
    const many = rows(Array.from({ length: 10_000 }, (_, i) => trial(i + 1, { a: next(), b: next(), c: next() }, next())));
    const all = axesOf(many, new Map());
    const f = fieldOf(many, all, true);
    const begun = performance.now();
    for (let k = 0; k < 20; k++) chosen(f, { a: [0.1, 0.1 + k / 40], b: [0.2, 0.9] });
    expect((performance.now() - begun) / 20).toBeLessThan(50);
  });
});

describe('rungs', () => {
  it('follow the configuration of the searcher', () => {
    expect(lengths({ name: 'async_halving', num_rungs: 3, divisor: 4, max_length: { batches: 1600 } })).toEqual({ units: [100, 400, 1600], measure: 'batches' });
    expect(lengths({ name: 'adaptive_asha', max_rungs: 5, divisor: 4, max_trials: 16, max_length: { epochs: 64 } })).toEqual({ units: [4, 16, 64], measure: 'epochs' });
    expect(lengths({ name: 'adaptive_asha', max_rungs: 0, divisor: 4, max_trials: 5000, max_length: { epochs: 50 } })).toEqual({ units: [1, 3, 12, 50], measure: 'epochs' });
    expect(lengths({ name: 'adaptive_asha', max_rungs: 0, divisor: 4, max_trials: 16, max_length: { batches: 64 } })).toEqual({ units: [4, 16, 64], measure: 'batches' });
    expect(lengths({ name: 'adaptive_asha', bracket_rungs: [2, 1], max_time: 100, time_metric: 'seconds', divisor: 10 })).toEqual({ units: [10, 100], measure: 'seconds' });
    expect(lengths({ name: 'random', max_length: { batches: 100 } })).toBeNull();
    expect(lengths({ name: 'async_halving', num_rungs: 3, divisor: 1, max_length: { batches: 100 } })).toBeNull();
  });
  const searcher = { name: 'async_halving', num_rungs: 3, divisor: 4, max_length: { batches: 1600 } };
  const list = rows([
    trial(1, {}, 0.1, 1600), trial(2, {}, 0.3, 400), trial(3, {}, 0.6, 100), trial(4, {}, 0.7, 100), trial(5, {}, 0.9, 50, 'STATE_ERROR'),
    trial(6, {}, 0.2, 420, 'STATE_RUNNING'), trial(7, {}, 0.5, 100, 'STATE_PAUSED'), trial(8, {}, null, 0, 'STATE_QUEUED'),
  ]);
  const l = ladder(list, searcher, true)!;
  it('count what reached them, what was stopped and what still runs', () => {
    expect(l.rungs.map((g) => [g.length, g.reached, g.stopped, g.waiting, g.running, g.best])).toEqual([[100, 6, 2, 1, 1, 0.1], [400, 3, 1, 0, 0, 0.1], [1600, 1, 0, 0, 1, 0.1]]);
    expect(l.estimated).toBe(false);
  });
  it('tell what was stopped early from what finished', () => {
    expect(list.map((r) => early(r, l))).toEqual([false, true, true, true, false, false, false, false]);
    expect(early(list[2]!, null)).toBe(false);
    expect(rungAt(l.rungs, 99.9)).toBe(0);
  });
  it('in another unit are converted with the longest trial, and say so', () => {
    const epochs = ladder(list, { ...searcher, max_length: { batches: 0, epochs: 16 } as never }, true);
    expect(epochs).toBeNull(); // a length of none
    const some = ladder(list, { ...searcher, max_length: { epochs: 16 } }, true)!;
    expect(some.estimated).toBe(true);
    expect(some.rungs.map((g) => g.length)).toEqual([100, 400, 1600]);
  });
  it('have an axis of their own', () => expect(lengthAxis).not.toBe(metricAxis));
});

describe('importance', () => {
  const make = (n: number, f: (a: number, b: number, c: number) => number, seed = 3) => {
    const next = random(seed);
    const columns = [0, 1, 2].map(() => Float32Array.from({ length: n }, next));
    const y = Array.from({ length: n }, (_, i) => f(columns[0]![i]!, columns[1]![i]!, columns[2]![i]!));
    const order = [...y.keys()].sort((a, b) => y[a]! - y[b]!);
    const ranks = new Float32Array(n);
    order.forEach((i, k) => (ranks[i] = k / (n - 1)));
    return { columns, ranks };
  };
  it('finds what matters, its direction, and how sure that is', () => {
    const r = importance(make(300, (a, b) => 3 * a - b))!;
    const [a, b, c] = r.shares as [typeof r.shares[0], typeof r.shares[0], typeof r.shares[0]];
    expect(a!.low).toBeGreaterThan(b!.high);
    expect(b!.low).toBeGreaterThan(c!.high);
    expect(Math.abs(c!.mean)).toBeLessThan(0.1);
    expect(a!.slope).toBeGreaterThan(0.7);
    expect(b!.slope).toBeLessThan(0);
    expect(r.explained).toBeGreaterThan(0.7);
    expect(a!.low).toBeLessThanOrEqual(a!.mean);
    expect(a!.high).toBeGreaterThanOrEqual(a!.mean);
  });
  it('explains nothing of noise', () => {
    const next = random(11);
    expect(importance(make(200, () => next()))!.explained).toBeLessThan(0.1);
  });
  it('finds a valley, which a correlation does not see', () => {
    const r = importance(make(400, (a) => (a - 0.5) ** 2))!;
    expect(Math.abs(r.shares[0]!.slope)).toBeLessThan(0.2);
    expect(r.shares[0]!.mean).toBeGreaterThan(0.5);
  });
  it('says nothing of few trials, and bears missing values', () => {
    expect(importance(make(8, (a) => a))).toBeNull();
    expect(importance({ columns: [], ranks: new Float32Array(50) })).toBeNull();
    const p = make(100, (a) => a);
    p.columns[1]!.fill(NaN, 0, 50);
    p.ranks.fill(NaN, 90);
    const r = importance(p)!;
    expect(r.trials).toBe(90);
    expect(r.shares.every((s) => Number.isFinite(s.mean))).toBe(true);
  });
  it('is the same for the same trials', () => {
    expect(importance(make(60, (a) => a))).toEqual(importance(make(60, (a) => a)));
  });
});
