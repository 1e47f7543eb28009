// Values of trials at a length that enough of them reached: a value after 10 batches and one after 1,000 do not compare.
import type { Row } from './hp';
import { ranked } from './forest';

export interface SameLength {
  length: number; // batches
  ranks: Float32Array; // of each row: 0 the best, 1 the worst, NaN where a trial has no value at the length
  trials: number; // that have one
  differ: boolean; // trials have other lengths too
}

const slack = 0.995; // a trial may end a report before its length

// sameLength compares trials at the largest length that half of those with a value reached, and at least `least` of them.
export function sameLength(rows: readonly Row[], smaller: boolean, least: number): SameLength {
  const known = rows.filter((r) => r.value !== null).map((r) => r.batches).sort((a, b) => b - a);
  const enough = Math.min(known.length, Math.max(least, Math.ceil(known.length / 2)));
  const length = known[enough - 1] ?? 0;
  const found = rows.flatMap((r, i) => {
    const v = r.value !== null && r.batches >= length * slack ? valueAt(r, length / slack, smaller) : null;
    return v === null ? [] : [{ i, v: smaller ? v : -v }];
  });
  const ranks = new Float32Array(rows.length).fill(NaN);
  ranked(Float64Array.from(found, (f) => f.v)).forEach((rank, n) => (ranks[found[n]!.i] = found.length < 2 ? 0 : rank / (found.length - 1)));
  return { length, ranks, trials: found.length, differ: known.some((b) => b < length * slack || b > length / slack) };
}

// valueAt is the best value of a trial up to a length.
function valueAt(r: Row, length: number, smaller: boolean): number | null {
  if (r.batches <= length) return r.value;
  let best: number | null = null;
  r.steps.forEach((s, i) => {
    const v = r.values[i];
    if (s <= length && v !== null && v !== undefined && (best === null || (smaller ? v < best : v > best))) best = v;
  });
  return best;
}
