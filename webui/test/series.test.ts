import { describe, expect, it } from 'vitest';
import { align, families, family, grow, keyOf, load, overTime, pointsOf, smooth, thin, type Book, type Key, type Series } from '../src/lib/series';

const at = (s: number) => new Date(s * 1000).toISOString();
const key = (group: string, name: string, trial = 1) => keyOf({ trial, group, name });
const report = (group: string, metrics: Record<string, unknown>, step: number, trial = 1) => ({ trialId: trial, group, totalBatches: step, endTime: at(step), metrics });

describe('a book of curves', () => {
  it('is read from what the master sends, and holds no infinite numbers', () => {
    const book: Book = new Map();
    load(book, 1, 'training', [
      { batches: 1, time: at(10), values: { loss: 0.5, accuracy: 0.1 } },
      { batches: 2, time: at(20), values: { loss: 'Infinity' } },
      { batches: 3, time: at(30), values: { loss: 'NaN' } },
    ]);
    expect(book.get(key('training', 'loss'))).toEqual({ x: [1, 2, 3], t: [10, 20, 30], y: [0.5, null, null] });
    expect(book.get(key('training', 'accuracy'))).toEqual({ x: [1], t: [10], y: [0.1] });
  });

  it('grows at its end, and takes the same report twice', () => {
    const book: Book = new Map();
    expect(grow(book, report('training', { avg_metrics: { loss: 1, note: 'text' } }, 1))).toBe(true);
    grow(book, report('training', { avg_metrics: { loss: 0.5 } }, 2));
    grow(book, report('training', { avg_metrics: { loss: 0.5 } }, 2));
    expect(book.get(key('training', 'loss'))).toEqual({ x: [1, 2], t: [1, 2], y: [1, 0.5] });
    expect(book.has(key('training', 'note'))).toBe(false);
    grow(book, report('validation', { validation_metrics: { loss: 2 } }, 1));
    expect(book.get(key('validation', 'loss'))?.y).toEqual([2]);
  });

  it('keeps its order when a report comes late, and takes the newer of two', () => {
    const book: Book = new Map();
    for (const step of [1, 3, 2]) grow(book, report('training', { avg_metrics: { loss: step } }, step));
    grow(book, report('training', { avg_metrics: { loss: 9 } }, 2));
    expect(book.get(key('training', 'loss'))).toMatchObject({ x: [1, 2, 3], y: [1, 9, 3] });
  });

  it('takes an empty report for nothing', () => {
    expect(grow(new Map(), report('training', { avg_metrics: {} }, 1))).toBe(false);
  });
});

describe('charts', () => {
  const k = (group: string, name: string): Key => ({ trial: 1, group, name });
  it('put what is trained beside what is validated', () => {
    expect(['val_loss', 'validation_loss', 'train/loss', 'loss', 'val_'].map(family)).toEqual(['loss', 'loss', 'loss', 'loss', 'val_']);
  });
  it('begin with the metric of the search', () => {
    const charts = families([k('training', 'acc'), k('training', 'loss'), k('validation', 'val_loss'), k('gpu', 'util'), k('validation', 'f1')], 'val_loss');
    expect(charts.map((c) => c.name)).toEqual(['loss', 'f1', 'acc', 'gpu.util']);
    expect(charts[0]?.keys.map((x) => x.group)).toEqual(['training', 'validation']);
  });
});

describe('smoothing', () => {
  it('changes nothing at 0 and leaves gaps', () => {
    expect(smooth([1, null, 3], 0)).toEqual([1, null, 3]);
    expect(smooth([1, null, 1], 0.9)).toEqual([1, null, 1]);
  });
  it('starts at the first value and not at 0', () => {
    const s = smooth([10, 10, 20], 0.5) as number[];
    expect(s[0]).toBeCloseTo(10);
    expect(s[2]).toBeGreaterThan(10);
    expect(s[2]).toBeLessThan(20);
  });
});

describe('aligning', () => {
  it('lays series over one axis and tells no point from no number', () => {
    expect(align([])).toEqual([[]]);
    expect(align([{ x: [1, 2], y: [5, null] }])).toEqual([[1, 2], [5, null]]);
    expect(align([{ x: [1, 3], y: [5, null] }, { x: [2, 3], y: [7, 8] }])).toEqual([[1, 2, 3], [5, undefined, null], [undefined, 7, 8]]);
  });
  it('over time follows the clock, also where steps were reported again', () => {
    expect(overTime({ x: [1, 2, 3], t: [10, 40, 30], y: [1, 2, null] })).toEqual({ x: [10, 30, 40], y: [1, null, 2] });
    expect(align([{ x: [1, 1, 2], y: [1, 2, 3] }, { x: [NaN], y: [1] }])[0]).toHaveLength(3);
  });
  it('bears a hundred thousand points', () => {
    const x = Array.from({ length: 100_000 }, (_, i) => i);
    const [xs, a, b] = align([{ x, y: x }, { x: x.map((v) => v + 0.5), y: x }], Infinity);
    expect(xs).toHaveLength(200_000);
    expect(a?.[0]).toBe(0);
    expect(b?.[1]).toBe(0);
  });
});

describe('curves that grow for hours', () => {
  const hours = (n: number): Series => ({ x: Array.from({ length: n }, (_, i) => i + 1), t: Array.from({ length: n }, (_, i) => i + 1), y: Array.from({ length: n }, (_, i) => (i === 5000 ? 99 : i === 6000 ? -99 : i >= 7000 && i < 8000 ? null : Math.sin(i / 300))) });

  it('are thinned to what a screen shows, and keep their ends, their extremes and their gaps', () => {
    const s = hours(20_000);
    thin(s, 500);
    expect(s.x.length).toBeGreaterThan(400);
    expect(s.x.length).toBeLessThan(800);
    expect([s.x[0], s.x[s.x.length - 1]]).toEqual([1, 20_000]);
    expect(s.y[s.x.indexOf(5001)]).toBe(99);
    expect(s.y[s.x.indexOf(6001)]).toBe(-99);
    const inGap = s.x.flatMap((x, i) => (x > 7001 && x <= 8000 ? [s.y[i]] : []));
    expect(inGap.length).toBeGreaterThan(5);
    expect(inGap.every((y) => y === null)).toBe(true);
    expect(s.t).toEqual(s.x);
    const before = s.x.slice();
    thin(s, 10_000);
    expect(s.x).toEqual(before);
  });

  it('stay small while reports come, however long that takes', () => {
    const book: Book = new Map();
    let longest = 0;
    for (let step = 1; step <= 30_000; step++) {
      grow(book, report('training', { avg_metrics: { loss: step === 12_345 ? 50 : 1 / step } }, step), 400);
      longest = Math.max(longest, book.get(key('training', 'loss'))!.x.length);
    }
    const s = book.get(key('training', 'loss'))!;
    expect(longest).toBeLessThanOrEqual(801);
    expect(s.x[s.x.length - 1]).toBe(30_000);
    expect(Math.max(...(s.y as number[]))).toBe(50);
    expect(s.x.every((x, i) => i === 0 || x > s.x[i - 1]!)).toBe(true);
  });

  it('have fewer points each if there are many of them', () => {
    expect([1, 12, 20, 50, 1000].map(pointsOf)).toEqual([2000, 2000, 1200, 480, 400]);
  });

  it('lie over an even axis if their own has too many places, within half of a place', () => {
    const line = (shift: number) => ({ x: Array.from({ length: 5000 }, (_, i) => 4 * i + shift), y: Array.from({ length: 5000 }, (_, i): number | null => (i === 2500 ? 7 : i >= 4000 && i < 4500 ? null : 1)) });
    const [xs, ...ys] = align([line(0), line(1), line(2)], 1000) as [number[], ...(number | null | undefined)[][]];
    expect(xs.length).toBe(1000);
    expect(xs.every((x, i) => i === 0 || x > xs[i - 1]!)).toBe(true);
    ys.forEach((y, i) => {
      const top = y.indexOf(7);
      expect(Math.abs(xs[top]! - (10_000 + i))).toBeLessThan(40);
      expect(y.filter((v) => v === null).length).toBeGreaterThan(40);
    });
  });
});
