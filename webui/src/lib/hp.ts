// A search as a field of numbers: trials are rows, hyperparameters and the metric are axes, and each
// trial has a place from 0 to 1 on each axis. Everything that draws a search draws these places.
import { flat, plain } from './format';
import { bare, ended } from './states';
import type { SearchTrial } from './types';

export interface Row {
  id: number;
  state: string;
  over: boolean;
  stopped: boolean; // the search ended it
  batches: number;
  value: number | null; // the best that it reported
  last: number | null;
  hp: Map<string, unknown>;
  steps: number[];
  values: (number | null)[];
}

export type Kind = 'number' | 'log' | 'category';

export interface Axis {
  name: string; // of the hyperparameter; see metricAxis and lengthAxis
  kind: Kind;
  min: number;
  max: number;
  values: string[]; // of a category, in their order
  clipped: boolean; // values beyond an end are drawn at the end
  whole: boolean; // few integers: a heat map has a cell for each
}

// No hyperparameter has these names: a name in a configuration does not begin with a space.
export const metricAxis = ' metric';
export const lengthAxis = ' batches';

const finite = (v: unknown): number | null => (typeof v === 'number' && Number.isFinite(v) ? v : null);

export function rowOf(t: SearchTrial, smaller: boolean): Row {
  return {
    id: t.id, state: bare(t.state), over: ended(t.state), stopped: t.stopped, batches: t.batches, value: finite(smaller ? t.min : t.max), last: finite(t.last),
    hp: new Map(flat(t.hparams)), steps: t.steps, values: t.values.map(finite),
  };
}

// kinds reads from a configuration's hyperparameters which are drawn on a logarithmic axis and
// which are categories; the values say it for the others.
export function kinds(space: unknown, prefix = ''): Map<string, Kind> {
  const out = new Map<string, Kind>();
  if (!space || typeof space !== 'object' || Array.isArray(space)) return out;
  const v = space as Record<string, unknown>;
  if (typeof v.type === 'string' && prefix) {
    if (v.type === 'log' || v.log === true) out.set(prefix, 'log');
    else if (v.type === 'int' || v.type === 'double') out.set(prefix, 'number');
    else if (v.type === 'categorical') out.set(prefix, 'category');
    if (out.size || v.type === 'const') return out;
  }
  for (const [k, x] of Object.entries(v)) for (const [name, kind] of kinds(x, prefix ? `${prefix}.${k}` : k)) out.set(name, kind);
  return out;
}

const maxCategories = 40;
const maxWhole = 24;

// axesOf finds the hyperparameters that differ between trials, and their ranges.
export function axesOf(rows: readonly Row[], known: Map<string, Kind>): Axis[] {
  const seen = new Map<string, { texts: Set<string>; numbers: boolean; whole: boolean; min: number; max: number; has: number }>();
  for (const r of rows) {
    for (const [name, v] of r.hp) {
      let s = seen.get(name);
      if (!s) seen.set(name, (s = { texts: new Set(), numbers: true, whole: true, min: Infinity, max: -Infinity, has: 0 }));
      s.has++;
      if (s.texts.size <= maxCategories) s.texts.add(plain(v));
      if (typeof v === 'number' && Number.isFinite(v)) {
        s.min = Math.min(s.min, v);
        s.max = Math.max(s.max, v);
        s.whole &&= Number.isInteger(v);
      } else s.numbers = false;
    }
  }
  const out: Axis[] = [];
  for (const [name, s] of seen) {
    if (s.texts.size < 2 && s.has === rows.length) continue;
    const wanted = known.get(name);
    if (s.numbers && wanted !== 'category') {
      const log = s.min > 0 && (wanted === 'log' || (wanted === undefined && s.max / s.min >= 1000));
      out.push({ name, kind: log ? 'log' : 'number', min: s.min, max: s.max, values: [], clipped: false, whole: !log && s.whole && s.max - s.min < maxWhole });
    } else if (s.texts.size <= maxCategories) {
      const values = [...s.texts].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
      out.push({ name, kind: 'category', min: 0, max: values.length - 1, values, clipped: false, whole: false });
    }
  }
  return out.sort((a, b) => a.name.localeCompare(b.name));
}

// axisOfValues is an axis for numbers of which a few may be far out: those are drawn at its end,
// so that they do not press all others into a line.
export function axisOfValues(name: string, values: readonly (number | null)[], log = false): Axis {
  const list = values.filter((v): v is number => v !== null && (!log || v > 0)).sort((a, b) => a - b);
  const axis: Axis = { name, kind: log ? 'log' : 'number', min: list[0] ?? 0, max: list[list.length - 1] ?? 1, values: [], clipped: false, whole: false };
  if (log || list.length < 10) return axis;
  const at = (q: number) => list[Math.round(q * (list.length - 1))]!;
  const low = at(0.05), high = at(0.9), width = high - low;
  if (width > 0 && axis.max > high + 8 * width) Object.assign(axis, { max: high + width, clipped: true });
  if (width > 0 && axis.min < low - 8 * width) Object.assign(axis, { min: low - width, clipped: true });
  return axis;
}

// place is where a value is on an axis, from 0 to 1; NaN where it has no place.
export function place(a: Axis, v: unknown): number {
  if (a.kind === 'category') {
    const i = v === undefined ? -1 : a.values.indexOf(plain(v));
    return i < 0 ? NaN : a.values.length === 1 ? 0.5 : i / (a.values.length - 1);
  }
  if (typeof v !== 'number' || !Number.isFinite(v)) return NaN;
  return Math.min(1, Math.max(0, beyond(a, v)));
}

// beyond is the place of a number, which may be outside of the axis.
function beyond(a: Axis, v: number): number {
  if (a.min === a.max) return v === a.min ? 0.5 : v < a.min ? -1 : 2;
  return a.kind === 'log' ? (v > 0 ? Math.log(v / a.min) / Math.log(a.max / a.min) : NaN) : (v - a.min) / (a.max - a.min);
}

// valueAt is the number at a place of an axis that is no category.
export function valueAt(a: Axis, p: number): number {
  return a.kind === 'log' ? a.min * (a.max / a.min) ** p : a.min + p * (a.max - a.min);
}

export interface Field {
  rows: Row[];
  axes: Axis[];
  at: Float32Array[]; // place of each row on each axis
  rank: Float32Array; // of each row: 0 the best, 1 the worst, NaN without a value
  best: number; // index of a row; -1: none has a value
}

export function fieldOf(rows: Row[], axes: Axis[], smaller: boolean): Field {
  const at = axes.map((a) => Float32Array.from(rows, (r) => place(a, a.name === metricAxis ? r.value : a.name === lengthAxis ? r.batches : r.hp.get(a.name))));
  const order = rows.map((_, i) => i).filter((i) => rows[i]!.value !== null).sort((x, y) => (smaller ? 1 : -1) * (rows[x]!.value! - rows[y]!.value!) || rows[x]!.id - rows[y]!.id);
  const rank = new Float32Array(rows.length).fill(NaN);
  order.forEach((i, n) => (rank[i] = order.length < 2 ? 0 : n / (order.length - 1)));
  return { rows, axes, at, rank, best: order[0] ?? -1 };
}

// A Brush has the selection on each axis: a range of numbers, or values of a category.
export type Brush = Record<string, [number, number] | string[]>;

const ranged = (v: unknown): v is [number, number] => Array.isArray(v) && v.length === 2 && v.every((x) => typeof x === 'number' && Number.isFinite(x));

// parseBrush reads a brush from an address, and ignores invalid parts.
export function parseBrush(text: string | null): Brush {
  const out: Brush = {};
  try {
    for (const [k, v] of Object.entries(JSON.parse(text ?? '{}') as object)) {
      if (ranged(v)) out[k] = v;
      else if (Array.isArray(v) && v.every((x) => typeof x === 'string')) out[k] = v;
    }
  } catch {
    // somebody has changed the address by hand
  }
  return out;
}

// short writes a brush for an address, with as many digits as a drag has.
export function short(b: Brush): string {
  if (!Object.keys(b).length) return '';
  return JSON.stringify(b, (_k, v) => (typeof v === 'number' ? Number(v.toPrecision(5)) : v));
}

// chosen marks the rows that are within every part of a brush.
export function chosen(f: Field, b: Brush): { mark: Uint8Array; count: number } {
  const mark = new Uint8Array(f.rows.length).fill(1);
  f.axes.forEach((a, i) => {
    const want = b[a.name];
    if (!want) return;
    const at = f.at[i]!;
    if (a.kind === 'category') {
      const places = new Set((want as unknown[]).filter((v) => typeof v === 'string').map((v) => Math.fround(place(a, v))));
      for (let n = 0; n < mark.length; n++) if (!places.has(at[n]!)) mark[n] = 0;
      return;
    }
    if (!ranged(want)) return;
    const ends = want.map((v) => (a.kind === 'log' && v <= 0 ? -Infinity : beyond(a, v)));
    const low = Math.fround(ends[0]!) - 1e-6, high = Math.fround(ends[1]!) + 1e-6;
    for (let n = 0; n < mark.length; n++) if (!(at[n]! >= low && at[n]! <= high)) mark[n] = 0; // NaN is in no range
  });
  let count = 0;
  for (const m of mark) count += m;
  return { mark, count };
}

// brushOf returns the selection between two places on an axis.
export function brushOf(a: Axis, from: number, to: number): [number, number] | string[] {
  const low = Math.max(0, Math.min(from, to)), high = Math.min(1, Math.max(from, to));
  if (a.kind !== 'category') return [valueAt(a, low), valueAt(a, high)];
  return a.values.filter((v) => place(a, v) >= low - 1e-9 && place(a, v) <= high + 1e-9);
}

// ticks are round numbers of an axis, few enough for the room.
export function ticks(a: Axis, room: number): { at: number; value: number }[] {
  if (a.kind === 'category') return [];
  if (a.min === a.max) return [{ at: 0.5, value: a.min }];
  const out: { at: number; value: number }[] = [];
  if (a.kind === 'log') return logTicks(a, room);
  const raw = (a.max - a.min) / Math.max(1, room);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) ?? raw;
  for (let n = Math.ceil(a.min / step - 1e-9); n * step <= a.max + step * 1e-9; n++) out.push({ at: place(a, n * step), value: Number((n * step).toPrecision(12)) });
  return out;
}

function logTicks(a: Axis, room: number): { at: number; value: number }[] {
  const first = Math.floor(Math.log10(a.min)), last = Math.ceil(Math.log10(a.max));
  const choices = [[1, 2, 5], [1, 3], [1]].map((leads) => ({ leads, each: 1 }));
  for (let each = 2; each <= last - first; each++) choices.push({ leads: [1], each });
  for (const { leads, each } of choices) {
    const out: { at: number; value: number }[] = [];
    for (let e = Math.ceil(first / each) * each; e <= last && out.length <= room + 1; e += each) {
      for (const l of leads) {
        const value = Number(`${l}e${e}`);
        if (value >= a.min * 0.999 && value <= a.max * 1.001) out.push({ at: place(a, value), value });
      }
    }
    if (out.length > 1 && out.length <= room + 1) return out;
  }
  return [a.min, a.max].map((v, i) => ({ at: i, value: Number(v.toPrecision(2)) }));
}

// A Cell of a heat map has the trials between two steps of each of two axes.
export interface Cell {
  x: number;
  y: number;
  count: number;
  value: number | null; // of its best trial
  rank: number; // of that trial
}

const bins = 12;

// binsOf is how many cells an axis has.
export const binsOf = (a: Axis): number => (a.kind === 'category' ? a.values.length : a.whole ? a.max - a.min + 1 : bins);

const binAt = (a: Axis, p: number): number => (a.kind === 'category' ? Math.round(p * (a.values.length - 1)) : a.whole ? Math.round(p * (a.max - a.min)) : Math.min(bins - 1, Math.floor(p * bins)));

// binBrush returns the selection on an axis when a cell is selected.
export function binBrush(a: Axis, bin: number): [number, number] | string[] {
  if (a.whole) return [a.min + bin - 0.4, a.min + bin + 0.4];
  return a.kind === 'category' ? [a.values[bin] ?? ''] : [valueAt(a, bin / bins), valueAt(a, (bin + 1) / bins)];
}

export function cellsOf(f: Field, x: number, y: number, mark: Uint8Array): Cell[] {
  const out = new Map<number, Cell>();
  const ax = f.axes[x]!, ay = f.axes[y]!;
  f.rows.forEach((r, i) => {
    const px = f.at[x]![i]!, py = f.at[y]![i]!;
    if (!mark[i] || Number.isNaN(px) || Number.isNaN(py)) return;
    const bx = binAt(ax, px), by = binAt(ay, py);
    const key = by * 1000 + bx;
    let c = out.get(key);
    if (!c) out.set(key, (c = { x: bx, y: by, count: 0, value: null, rank: NaN }));
    c.count++;
    if (r.value !== null && !(f.rank[i]! >= c.rank)) Object.assign(c, { value: r.value, rank: f.rank[i] });
  });
  return [...out.values()];
}
