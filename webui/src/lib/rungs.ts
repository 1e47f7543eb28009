// Which trials a halving search has stopped, and where: at its rungs.
import type { Row } from './hp';

export interface Rung {
  length: number; // batches
  reached: number;
  stopped: number; // here, by the search
  failed: number; // here, by an error or a person
  waiting: number; // here, paused until the search lets them train on
  running: number; // towards the next rung
  best: number | null; // of those that ended here or continued
}

export interface Ladder {
  rungs: Rung[];
  estimated: boolean; // the lengths are in another unit, converted with the longest trial
}

interface Searcher {
  name?: string;
  divisor?: number;
  num_rungs?: number;
  max_rungs?: number;
  max_trials?: number;
  bracket_rungs?: number[];
  max_length?: Record<string, number> | number;
  max_time?: number;
  time_metric?: string;
}

const halving = new Set(['adaptive_asha', 'async_halving', 'asha', 'adaptive']);

// lengths are the rungs of a searcher's configuration in its own unit; null: the search has none.
// Brackets with fewer rungs begin at a later one of the same rungs.
export function lengths(s: Searcher): { units: number[]; measure: string } | null {
  if (!s.name || !halving.has(s.name)) return null;
  const divisor = Number(s.divisor ?? 4);
  let full = 0, measure = 'batches';
  if (typeof s.max_time === 'number' && s.time_metric) [full, measure] = [s.max_time, s.time_metric];
  else if (typeof s.max_length === 'number') full = s.max_length;
  else if (s.max_length) [measure, full] = Object.entries(s.max_length)[0] ?? ['batches', 0];
  if (!(full >= 1) || !(divisor > 1)) return null;
  const powers = (n: number, limit: number) => {
    let k = 0;
    for (; n >= divisor && k < limit; k++) n /= divisor;
    return k;
  };
  // As the master computes them (master/search/adaptive.go): by default the first rung is at about 1/64 of a training.
  const automatic = () => {
    let n = Math.min(1 + Math.round(Math.log(64) / Math.log(divisor)), powers(s.max_trials ?? Infinity, 7) + 1, 7, Math.floor(500_000 / (s.max_trials ?? 1)));
    while (n > 1 && full < 2 * divisor ** (n - 2)) n--;
    return n;
  };
  const most = s.max_rungs ?? 5;
  const n = s.name === 'async_halving' || s.name === 'asha' ? s.num_rungs ?? 1
    : s.bracket_rungs?.length ? Math.max(...s.bracket_rungs)
      : most === 0 ? automatic() : Math.min(powers(full, most) + 1, powers(s.max_trials ?? Infinity, most) + 1, most);
  const units = Array.from({ length: Math.max(1, n) }, (_, i) => Math.max(1, Math.floor(full / divisor ** (n - 1 - i))));
  return { units: [...new Set(units)], measure };
}

const slack = 0.995; // a trial may end a report before its rung

// ladder counts trials at the rungs of their search; null: the search has none.
export type Stand = Pick<Row, 'state' | 'over' | 'batches' | 'value'>;

export function ladder(rows: readonly Stand[], searcher: Searcher, smaller: boolean): Ladder | null {
  const found = lengths(searcher);
  if (!found) return null;
  const longest = rows.reduce((n, r) => Math.max(n, r.batches), 0);
  const full = found.units[found.units.length - 1]!;
  const estimated = found.measure !== 'batches';
  if (estimated && longest === 0) return null;
  const scale = estimated ? longest / full : 1;
  const rungs = found.units.map((u): Rung => ({ length: u * scale, reached: 0, stopped: 0, failed: 0, waiting: 0, running: 0, best: null }));
  for (const r of rows) {
    const at = rungAt(rungs, r.batches);
    for (let i = 0; i <= at; i++) rungs[i]!.reached++;
    if (r.state === 'PAUSED' && rungs[at]) {
      rungs[at].waiting++;
      continue;
    }
    if (!r.over) {
      const next = rungs[at + 1] ?? rungs[rungs.length - 1]!;
      next.running++;
      continue;
    }
    const here = rungs[at];
    if (!here) continue; // it ended before the first rung
    if (r.state !== 'COMPLETED') here.failed++;
    else if (at < rungs.length - 1) here.stopped++;
    for (let i = 0; i <= at; i++) {
      const g = rungs[i]!;
      if (r.value !== null && (g.best === null || (smaller ? r.value < g.best : r.value > g.best))) g.best = r.value;
    }
  }
  return { rungs, estimated };
}

// rungAt is the highest rung that a trial of so many batches has reached; -1: none.
export function rungAt(rungs: readonly Rung[], batches: number): number {
  let at = -1;
  rungs.forEach((g, i) => {
    if (batches >= g.length * slack) at = i;
  });
  return at;
}

// early reports whether the search has stopped a trial before the whole length.
export function early(row: Pick<Row, 'state' | 'batches'>, l: Ladder | null): boolean {
  const last = l?.rungs[l.rungs.length - 1];
  return !!last && row.state === 'COMPLETED' && row.batches < last.length * slack;
}
