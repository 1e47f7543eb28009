// Curves: points of one metric of one trial, as they are loaded, grown and drawn.
import type { DataPoint, MetricsReport } from './types';

// A Series has its points in the order of their steps.
export interface Series {
  x: number[]; // steps
  t: number[]; // seconds since 1970
  y: (number | null)[]; // null: not a finite number
}

// A Book holds series by trial, group and name.
export type Book = Map<string, Series>;

export interface Key {
  trial: number;
  group: string;
  name: string;
}

export const keyOf = (k: Key): string => JSON.stringify([k.trial, k.group, k.name]);

export function parseKey(s: string): Key {
  const [trial, group, name] = JSON.parse(s) as [number, string, string];
  return { trial, group, name };
}

const finite = (v: unknown): number | null => (typeof v === 'number' && Number.isFinite(v) ? v : null);

// load replaces series by those that the master sent.
export function load(book: Book, trial: number, group: string, data: readonly Omit<DataPoint, 'epoch'>[]): void {
  const fresh = new Map<string, Series>();
  for (const p of data) {
    for (const [name, value] of Object.entries(p.values ?? {})) {
      let s = fresh.get(name);
      if (!s) fresh.set(name, (s = { x: [], t: [], y: [] }));
      s.x.push(p.batches);
      s.t.push(Date.parse(p.time) / 1000);
      s.y.push(finite(value));
    }
  }
  for (const [name, s] of fresh) book.set(keyOf({ trial, group, name }), s);
}

// grow adds a report, and replaces existing points of the same step: a report may arrive
// twice, and a trial that resumed from a checkpoint reports steps again. A series of twice as many points as wanted is thinned.
export function grow(book: Book, report: Pick<MetricsReport, 'trialId' | 'group' | 'totalBatches' | 'endTime' | 'metrics'>, most = Infinity): boolean {
  const group = groupOf(report.group);
  const values = (report.metrics.avg_metrics ?? report.metrics.validation_metrics ?? report.metrics.avgMetrics ?? report.metrics) as Record<string, unknown>;
  let grew = false;
  for (const [name, value] of Object.entries(values)) {
    if (typeof value !== 'number' && !['NaN', 'Infinity', '-Infinity'].includes(value as string)) continue;
    const key = keyOf({ trial: report.trialId, group, name });
    let s = book.get(key);
    if (!s) book.set(key, (s = { x: [], t: [], y: [] }));
    const x = report.totalBatches;
    let i = s.x.length;
    while (i > 0 && (s.x[i - 1] as number) >= x) i--;
    const same = s.x[i] === x ? 1 : 0;
    s.x.splice(i, same, x);
    s.t.splice(i, same, Date.parse(report.endTime) / 1000);
    s.y.splice(i, same, finite(value));
    if (s.x.length > 2 * most) thin(s, most);
    grew = true;
  }
  return grew;
}

const onScreen = 24_000; // points of one metric of all trials of a page: more are not seen, and cost time in each frame

// pointsOf is how many points each curve has on a page of so many; a zoom loads more.
export const pointsOf = (trials: number): number => Math.min(2000, Math.max(400, Math.floor(onScreen / Math.max(1, trials))));

// thin leaves about so many points of a series, as the master does when it is read: of each bucket of steps the smallest and
// the largest value, and one point that is no number.
export function thin(s: Series, most: number): void {
  const n = s.x.length;
  if (n <= most) return;
  const from = s.x[0]!, span = s.x[n - 1]! - from || 1, buckets = Math.max(1, Math.floor(most / 2));
  const bucket = (i: number) => Math.min(buckets - 1, Math.floor(((s.x[i]! - from) / span) * buckets));
  const keep: number[] = [];
  for (let i = 0; i < n;) {
    const b = bucket(i), kept = new Set(i === 0 ? [0] : []);
    let low = -1, high = -1, gap = -1;
    for (; i < n && bucket(i) === b; i++) {
      const y = s.y[i];
      if (y === null || y === undefined) gap = gap < 0 ? i : gap;
      else {
        if (low < 0 || y < s.y[low]!) low = i;
        if (high < 0 || y > s.y[high]!) high = i;
      }
    }
    for (const k of [low, high, gap, i === n ? n - 1 : -1]) if (k >= 0) kept.add(k);
    keep.push(...[...kept].sort((a, c) => a - c));
  }
  s.x = keep.map((k) => s.x[k]!);
  s.t = keep.map((k) => s.t[k]!);
  s.y = keep.map((k) => s.y[k]!);
}

// groupOf gives the two groups that every trial has the names they have elsewhere.
export function groupOf(group: string): string {
  return group === 'avg_metrics' ? 'training' : group === 'validation_metrics' ? 'validation' : group;
}

// family is the name under which a metric shares a chart: loss and val_loss belong together.
export function family(name: string): string {
  return name.replace(/^(val|valid|validation|train|training|eval|test)[_/]/, '') || name;
}

// families sorts series into charts. The searcher's metric comes first, then what
// is validated, then the rest by name.
export function families(keys: Iterable<Key>, first: string): { name: string; keys: Key[] }[] {
  const charts = new Map<string, Key[]>();
  for (const k of keys) {
    const name = k.group === 'training' || k.group === 'validation' ? family(k.name) : `${k.group}.${k.name}`;
    charts.set(name, [...(charts.get(name) ?? []), k]);
  }
  const rank = (list: Key[]): number =>
    list.some((k) => k.group === 'validation' && k.name === first) ? 0
      : list.some((k) => k.group === 'validation') ? 1
        : list.some((k) => k.group === 'training') ? 2 : 3;
  return [...charts]
    .map(([name, list]) => ({ name, keys: list.sort((a, b) => a.group.localeCompare(b.group) || a.name.localeCompare(b.name) || a.trial - b.trial) }))
    .sort((a, b) => rank(a.keys) - rank(b.keys) || a.name.localeCompare(b.name));
}

// smooth is an exponential moving average without its start-up bias; 0 changes
// nothing. Gaps stay gaps.
export function smooth(y: readonly (number | null)[], weight: number): (number | null)[] {
  if (weight <= 0) return y.slice();
  const out: (number | null)[] = [];
  let last = 0;
  let debias = 0;
  for (const v of y) {
    if (v === null) {
      out.push(null);
      continue;
    }
    last = last * weight + (1 - weight) * v;
    debias = debias * weight + (1 - weight);
    out.push(last / debias);
  }
  return out;
}

// overTime is a series by the times of its reports, in that order: a trial that resumed
// from a checkpoint reported earlier steps later.
export function overTime(s: Series): { x: number[]; y: (number | null)[] } {
  if (s.t.every((t, i) => i === 0 || s.t[i - 1]! <= t)) return { x: s.t, y: s.y };
  const order = s.t.map((_, i) => i).sort((a, b) => s.t[a]! - s.t[b]!);
  return { x: order.map((i) => s.t[i]!), y: order.map((i) => s.y[i] ?? null) };
}

interface Line {
  x: readonly number[];
  y: readonly (number | null)[];
}

const mostPlaces = 8192; // of an axis: several for each pixel of a large screen

// align lays series over a common axis, as uPlot wants them: undefined where a
// series has no point, null where its point is no number. An axis of too many places is
// replaced by an even one, on which points move by less than a pixel.
export function align(list: readonly Line[], most = mostPlaces): (number | null | undefined)[][] {
  const first = list[0];
  if (!first) return [[]];
  if (list.every((s) => sameAxis(s.x, first.x))) return [first.x.slice(), ...list.map((s) => s.y.slice())];
  const xs = union(list);
  if (xs.length > most) return even(list, xs[0]!, xs[xs.length - 1]!, Math.floor(most / 2));
  const out: (number | null | undefined)[][] = [xs];
  for (const s of list) {
    const y: (number | null | undefined)[] = new Array(xs.length).fill(undefined);
    let at = 0;
    s.x.forEach((x, i) => {
      while (at < xs.length && xs[at] !== x) at++;
      y[at] = s.y[i];
    });
    out.push(y);
  }
  return out;
}

// even lays series over bins of the same width, each with two places: for the smallest and the largest value of a series in
// the bin, in their order.
function even(list: readonly Line[], from: number, to: number, bins: number): (number | null | undefined)[][] {
  const width = (to - from) / bins;
  const place = width >= 2 ? Math.round : (v: number) => v;
  const xs = Array.from({ length: 2 * bins }, (_, i) => place(from + (i / 2 + 0.25) * width));
  const bin = (x: number) => Math.min(bins - 1, Math.floor((x - from) / width));
  return [xs, ...list.map((s) => {
    const out: (number | null | undefined)[] = new Array(2 * bins).fill(undefined);
    const n = s.x.length;
    for (let i = 0; i < n;) {
      const b = bin(s.x[i]!);
      let low = -1, high = -1;
      for (; i < n && bin(s.x[i]!) === b; i++) {
        const y = s.y[i];
        if (y === null || y === undefined) continue;
        if (low < 0 || y < s.y[low]!) low = i;
        if (high < 0 || y > s.y[high]!) high = i;
      }
      out[2 * b] = low < 0 ? null : s.y[Math.min(low, high)];
      if (low !== high) out[2 * b + 1] = s.y[Math.max(low, high)];
    }
    return out;
  })];
}

function sameAxis(a: readonly number[], b: readonly number[]): boolean {
  return a === b || (a.length === b.length && a.every((x, i) => x === b[i]));
}

// union is all places of all series, once each and in their order.
function union(list: readonly Line[]): number[] {
  const all = new Float64Array(list.reduce((n, s) => n + s.x.length, 0));
  let n = 0;
  for (const s of list) {
    all.set(s.x as number[], n);
    n += s.x.length;
  }
  all.sort();
  const xs: number[] = [];
  for (const x of all) if (xs.length === 0 || x !== xs[xs.length - 1]) xs.push(x);
  return xs;
}
