import { describe, expect, it } from 'vitest';
import probes from '../../plugins/harness/determined/core/_probes.py?raw';
import { differing, metricsOf, type Compared } from '../src/lib/compare';
import { changes, hunks } from '../src/lib/diff';
import { inOrder, mean, thin, titleOf } from '../src/lib/profile';

const trial = (id: number, hparams: object, config: object, summary: object = {}): Compared =>
  ({ trial: { id, hparams, summaryMetrics: summary }, experiment: { id: 10 + id, config, searcherMetric: 'loss' } }) as unknown as Compared;

describe('what differs', () => {
  const list = [
    trial(1, { lr: 0.1, net: { depth: 3 } }, { name: 'a', max_restarts: 5, hyperparameters: { lr: { type: 'log' } } }),
    trial(2, { lr: 0.2, net: { depth: 3 }, extra: 'x' }, { name: 'b', max_restarts: 5, resources: { slots: 2 } }),
  ];
  it('is the hyperparameters of the trials first, then the configuration', () => {
    expect(differing(list, false)).toEqual([
      { name: 'hyperparameters.extra', values: [undefined, 'x'] },
      { name: 'hyperparameters.lr', values: ['0.1', '0.2'] },
      { name: 'name', values: ['a', 'b'] },
      { name: 'resources.slots', values: [undefined, '2'] },
    ]);
    expect(differing(list, true).map((r) => r.name)).toContain('max_restarts');
    expect(differing([list[0]!], false)).toEqual([]);
  });
  it('of metrics is one value of each trial, the searched metric first', () => {
    const some = [
      trial(1, {}, {}, { avg_metrics: { a: { type: 'number', last: 1, min: 0 } }, validation_metrics: { b: { type: 'number', last: 2 }, loss: { type: 'number', last: 'NaN' }, note: { type: 'string', last: 'x' } } }),
      trial(2, {}, {}, { gpu: { u: { type: 'number', last: 7 } }, validation_metrics: { loss: { type: 'number', last: 0.5 } } }),
    ];
    expect(metricsOf(some, 'last')).toEqual([
      { name: 'validation loss', values: ['NaN', 0.5] }, { name: 'validation b', values: [2, undefined] }, { name: 'training a', values: [1, undefined] }, { name: 'gpu u', values: [undefined, 7] },
    ]);
    expect(metricsOf(some, 'min')[2]).toEqual({ name: 'training a', values: [0, undefined] });
    expect(metricsOf([trial(3, {}, {})], 'last')).toEqual([]);
  });
});

describe('the difference of two texts', () => {
  const told = (a: string, b: string) => changes(a, b).map((c) => c.kind + c.text).join('|');
  it.each([
    ['', '', ''], ['a\nb\n', 'a\nb\n', ' a| b'], ['', 'a\n', '+a'], ['a\n', '', '-a'],
    ['a\nb\nc\n', 'a\nx\nc\n', ' a|-b|+x| c'], ['a\nb\nc\n', 'b\nc\nd\n', '-a| b| c|+d'], ['x', 'y', '-x|+y'],
  ])('%j to %j', (a, b, want) => expect(told(a, b)).toBe(want));
  it('gives back both texts, whatever they are', () => {
    let seed = 5;
    const next = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
    for (let round = 0; round < 200; round++) {
      const text = () => Array.from({ length: Math.floor(next() * 12) }, () => 'abc'[Math.floor(next() * 3)]).join('\n');
      const a = text(), b = text();
      const all = changes(a, b);
      expect(all.filter((c) => c.kind !== '+').map((c) => c.text).join('\n')).toBe(a);
      expect(all.filter((c) => c.kind !== '-').map((c) => c.text).join('\n')).toBe(b);
      expect(all.filter((c) => c.left).map((c) => c.left)).toEqual(all.filter((c) => c.left).map((_, i) => i + 1));
      expect(all.filter((c) => c.right).map((c) => c.right)).toEqual(all.filter((c) => c.right).map((_, i) => i + 1));
    }
  });
  it('is the shortest one', () => {
    expect(changes('a\nb\nc\na\nb\nb\na', 'c\nb\na\nb\na\nc').filter((c) => c.kind !== ' ')).toHaveLength(5);
  });
  it('of long texts ends', () => {
    const a = Array.from({ length: 9000 }, (_, i) => `a${i}`).join('\n'), b = Array.from({ length: 9000 }, (_, i) => `b${i}`).join('\n');
    expect(changes(a, b)).toHaveLength(18000);
  });
  it('is shown in hunks', () => {
    const a = Array.from({ length: 30 }, (_, i) => String(i));
    const b = a.slice();
    b[2] = 'x';
    b[25] = 'y';
    const parts = hunks(changes(a.join('\n'), b.join('\n')));
    expect(parts.map((h) => h.length)).toEqual([7, 8]);
    expect(hunks(changes('a', 'a'))).toEqual([]);
  });
});

describe('what nodes measured', () => {
  it('is thinned without losing peaks', () => {
    const t = Array.from({ length: 10_000 }, (_, i) => i), y = t.map((v) => (v === 5003 ? 99 : v % 7));
    const s = thin(t, y, 100);
    expect(s.x.length).toBeLessThanOrEqual(200);
    expect(Math.max(...s.y)).toBe(99);
    expect(s.x.every((v, i) => i === 0 || v > s.x[i - 1]!)).toBe(true);
    expect(thin([1, 2], [3, 4])).toEqual({ x: [1, 2], y: [3, 4] });
  });
  it('has a mean over several parts, in the seconds since a begin', () => {
    const one = (part: string, y: number[]) => ({ trial: 1, name: 'gpu_util', agent: 'n', part, t: [100, 110, 120], y });
    const m = mean([one('a', [10, 20, 30]), one('b', [30, 40, 50])], 100, 2);
    expect(m).toEqual({ x: [5, 15, 25], y: [20, 30, 40] });
  });
  it('has a title for each metric that the harness reports', () => {
    const names = [...probes.matchAll(/"((?:gpu|cpu|memory|disk|net)_\w+)":/g)].map((m) => m[1]!);
    expect(names).toContain('memory_free');
    expect(names.filter((n) => titleOf(n) === n)).toEqual([]);
  });
  it('has names and an order', () => {
    expect(inOrder(['net_throughput_sent', 'other', 'gpu_util', 'cpu_util_simple'])).toEqual(['gpu_util', 'cpu_util_simple', 'net_throughput_sent', 'other']);
    expect(titleOf('gpu_util')).toBe('GPU use, %');
    expect(titleOf('other')).toBe('other');
  });
});
