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
// twice, and a trial that resumed from a checkpoint reports steps again.
export function grow(book: Book, report: Pick<MetricsReport, 'trialId' | 'group' | 'totalBatches' | 'endTime' | 'metrics'>): boolean {
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
    grew = true;
  }
  return grew;
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

// align lays series over a common axis, as uPlot wants them: undefined where a
// series has no point, null where its point is no number.
export function align(list: readonly Line[]): (number | null | undefined)[][] {
  const first = list[0];
  if (!first) return [[]];
  if (list.every((s) => sameAxis(s.x, first.x))) return [first.x.slice(), ...list.map((s) => s.y.slice())];
  const xs = union(list);
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
