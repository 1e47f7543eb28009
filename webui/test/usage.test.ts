import { describe, expect, it } from 'vitest';
import { byOf, hoursOf, last, layers, periods, spanOf, sums, table, ticks } from '../src/lib/usage';
import type { ResourceAllocationAggregatedEntry } from '../src/lib/types';

const now = Date.parse('2026-11-23T13:00:00Z');
const of = (periodStart: string, byUsername: Record<string, number>): ResourceAllocationAggregatedEntry => ({
  periodStart, period: 'x', seconds: Object.values(byUsername).reduce((a, v) => a + v, 0) * 3600,
  byUsername: Object.fromEntries(Object.entries(byUsername).map(([k, v]) => [k, v * 3600])), byExperimentLabel: {}, byResourcePool: {}, byWorkspace: {}, byProject: {}, byTaskType: {}, byGpuModel: {},
});

describe('the time of usage', () => {
  it('is thirty days until somebody chooses another', () => {
    expect(spanOf(null, null, now)).toEqual({ from: '2026-10-25', until: '2026-11-23', monthly: false });
    expect(last(1, now)).toEqual({ from: '2026-11-23', until: '2026-11-23' });
  });
  it('has days, and months if it is long', () => {
    expect(periods(spanOf('2026-02-27', '2026-03-02', now))).toEqual(['2026-02-27', '2026-02-28', '2026-03-01', '2026-03-02']);
    expect(spanOf('2026-01-01', '2026-04-10', now).monthly).toBe(false);
    const long = spanOf('2025-11-24', '2026-11-23', now);
    expect(long.monthly).toBe(true);
    expect(periods(long)).toHaveLength(13);
    expect(periods(long).slice(0, 3)).toEqual(['2025-11', '2025-12', '2026-01']);
  });
  it.each([['2026-02-30', '2026-03-01', 'not a date'], ['x', '2026-03-01', 'not a date'], ['2026-03-02', '2026-03-01', 'after'], ['2016-01-01', '2026-11-23', 'ten years'], ['0001-01-01', '9999-12-31', 'ten years']])('from %s to %s is refused: %s', (from, until, why) => {
    expect(spanOf(from, until, now).problem).toContain(why);
  });
  it('is in the address of the table', () => {
    expect(table(spanOf('2026-11-01', '2026-11-23', now))).toBe('/resources/allocation/aggregated?startDate=2026-11-01&endDate=2026-11-23&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY');
    expect(table(spanOf('2025-01-01', '2026-11-23', now))).toContain('startDate=2025-01&endDate=2026-11&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY');
  });
});

describe('sums of usage', () => {
  const span = spanOf('2026-11-01', '2026-11-03', now);
  it('have each day, also those without usage, the largest name first', () => {
    const s = sums([of('2026-11-01', { ada: 1, bob: 4 }), of('2026-11-03', { ada: 2 })], span, 'user');
    expect(s.periods).toEqual(['2026-11-01', '2026-11-02', '2026-11-03']);
    expect(s.totals).toEqual([5, 0, 2]);
    expect(s.shares.map((x) => [x.name, x.hours, x.values])).toEqual([['bob', 4, [4, 0, 0]], ['ada', 3, [1, 0, 2]]]);
    expect(s.shares.map((x) => x.part).reduce((a, v) => a + v, 0)).toBeCloseTo(1);
  });
  it('keep names that are those of an object\'s own parts', () => {
    const s = sums([of('2026-11-01', JSON.parse('{"constructor": 1, "__proto__": 2}'))], span, 'user');
    expect(s.shares.map((x) => x.name).sort()).toEqual(['__proto__', 'constructor'].sort());
  });
  it('are drawn in layers that add up, with the small ones together', () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`user ${i}`, i + 1]));
    const s = sums([of('2026-11-02', many)], span, 'user');
    const l = layers(s);
    expect(l).toHaveLength(8);
    expect(l.at(-1)).toMatchObject({ name: '23 others', color: 8 });
    expect(l.reduce((a, x) => a + x.values[1]!, 0)).toBeCloseTo(s.hours);
    expect(s.shares).toHaveLength(30);
  });
  it('of nothing are nothing', () => {
    expect(sums([], span, 'pool')).toMatchObject({ shares: [], hours: 0, totals: [0, 0, 0] });
  });
});

it('only known names are what it is added up by', () => {
  expect([byOf('pool'), byOf(null), byOf('toString'), byOf('nonsense')]).toEqual(['pool', 'workspace', 'workspace', 'workspace']);
});

it.each([[0, '0'], [0.004, '< 0.01'], [0.256, '0.26'], [3.44, '3.4'], [127.6, '128'], [12345.6, '12,346']])('%s slot hours are written %s', (h, text) => {
  expect(hoursOf(h)).toBe(text);
});

it.each([0.003, 0.9, 1, 4, 7, 99, 100, 12345, 3e8])('the axis up to %s has few round numbers, and room for it', (max) => {
  const t = ticks(max);
  expect(t[0]).toBe(0);
  expect(t.at(-1)).toBeGreaterThanOrEqual(max * (1 - 1e-9));
  expect(t.at(-1)).toBeLessThanOrEqual(max * 2);
  expect(t.length).toBeGreaterThan(2);
  expect(t.length).toBeLessThan(7);
});
