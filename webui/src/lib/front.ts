// The Pareto front of a search with several metrics, as a scatter of two of them.
import { place, type Axis } from './hp';
import type { SearchFront } from './types';

// A Spot is a trial's result in the scatter.
export interface Spot {
  trial: number;
  x: number; // values of both metrics
  y: number;
  front: boolean;
}

interface Reported {
  id: number;
  summaryMetrics?: Record<string, Record<string, { last?: unknown }> | undefined> | null;
}

// spots are the results of the front, and of each trial that is not on it its newest result; of a result that lacks one of both metrics, none.
export function spots(front: SearchFront, trials: readonly Reported[], x: string, y: string): Spot[] {
  const ix = front.metrics.indexOf(x), iy = front.metrics.indexOf(y);
  const out: Spot[] = front.points.map((p) => ({ trial: p.trialId, x: p.values[ix] ?? NaN, y: p.values[iy] ?? NaN, front: true }));
  const on = new Set(front.points.map((p) => p.trialId));
  for (const t of trials) {
    const last = t.summaryMetrics?.validation_metrics ?? {};
    const [a, b] = [last[x]?.last, last[y]?.last];
    if (!on.has(t.id) && typeof a === 'number' && typeof b === 'number') out.push({ trial: t.id, x: a, y: b, front: false });
  }
  return out.filter((s) => Number.isFinite(s.x) && Number.isFinite(s.y));
}

// extent is an axis with room for the values of the front; others that are far out have no place.
export function extent(name: string, values: readonly number[], ofFront: readonly number[]): Axis {
  const on = ofFront.length ? ofFront : values;
  const low = Math.min(...on), high = Math.max(...on), room = high - low || Math.abs(high) || 1;
  const near = values.filter((v) => v >= low - 2 * room && v <= high + 2 * room);
  const min = Math.min(low, ...near), max = Math.max(high, ...near), pad = (max - min || room) * 0.05;
  return { name, kind: 'number', min: min - pad, max: max + pad, values: [], clipped: false, whole: false };
}

// within reports whether a spot has a place on both axes.
export const within = (s: Spot, x: Axis, y: Axis): boolean => s.x >= x.min && s.x <= x.max && s.y >= y.min && s.y <= y.max;

export const at = (a: Axis, v: number): number => place(a, v);
