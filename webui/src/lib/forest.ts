// How much each hyperparameter matters: a forest of regression trees on the ranks of the metric, and
// what its trees lose when one hyperparameter's values are shuffled. Each tree is grown on its own
// resample of the trials; the spread between parts of the forest is the uncertainty.

export interface Problem {
  columns: Float32Array[]; // a place from 0 to 1 for each trial; NaN: it has none
  ranks: Float32Array; // of the metric, 0 the best
}

export interface Share {
  mean: number; // part of the variance of the ranks that depends on this column
  low: number; // 5th percentile over the parts of the forest
  high: number; // 95th percentile
  slope: number; // rank correlation with the metric; NaN without one
}

export interface Result {
  shares: Share[];
  explained: number; // part of the variance that the mean of those trees explains that have not seen a trial
  trials: number;
}

const parts = 20;
const trees = 8; // of a part
const deepest = 9;
const leaf = 3;
export const maxTrials = 1500; // that are looked at
export const minTrials = 12; // with fewer, nothing can be said

// random is a generator of numbers from 0 to 1 that starts again with its seed.
export function random(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

interface Node {
  column: number; // -1: a leaf
  cut: number;
  value: number;
  left: Node | null; // up to the cut
  right: Node | null;
}

// keysOf numbers the rows of a column by their values: sorted as numbers, the keys have the rows in the order of the values.
const bits = 11; // of a row: maxTrials is below 2048
const keysOf = (values: Float32Array): Int32Array => {
  const keys = new Int32Array(values.length);
  Array.from(values.keys()).sort((a, b) => values[a]! - values[b]!).forEach((i, rank) => (keys[i] = (rank << bits) | i));
  return keys;
};

function grow(x: Float32Array[], keys: Int32Array[], y: Float32Array, rows: Int32Array, depth: number, tried: number, next: () => number): Node {
  let sum = 0;
  for (const i of rows) sum += y[i]!;
  const node: Node = { column: -1, cut: 0, value: sum / rows.length, left: null, right: null };
  if (depth >= deepest || rows.length < 2 * leaf) return node;
  let most = 1e-9;
  const columns = x.map((_, c) => c);
  for (let k = 0; k < tried; k++) {
    const pick = k + Math.floor(next() * (columns.length - k));
    [columns[k], columns[pick]] = [columns[pick]!, columns[k]!];
    const c = columns[k]!, values = x[c]!;
    const key = keys[c]!;
    const order = rows.map((i) => key[i]!).sort(); // without a function, the browser sorts numbers many times as fast
    for (let n = 0; n < order.length; n++) order[n] = order[n]! & ((1 << bits) - 1);
    let left = 0;
    for (let n = 1; n < order.length; n++) {
      left += y[order[n - 1]!]!;
      const a = values[order[n - 1]!]!, b = values[order[n]!]!;
      if (n < leaf || order.length - n < leaf || a === b) continue;
      const right = sum - left;
      const gain = (left * left) / n + (right * right) / (order.length - n) - (sum * sum) / order.length;
      if (gain > most) {
        most = gain;
        node.column = c;
        node.cut = (a + b) / 2;
      }
    }
  }
  if (node.column < 0) return node;
  const values = x[node.column]!;
  node.left = grow(x, keys, y, rows.filter((i) => values[i]! <= node.cut), depth + 1, tried, next);
  node.right = grow(x, keys, y, rows.filter((i) => values[i]! > node.cut), depth + 1, tried, next);
  return node;
}

function predict(node: Node, x: Float32Array[], i: number, swapped: number, other: number): number {
  while (node.column >= 0) node = x[node.column]![node.column === swapped ? other : i]! <= node.cut ? node.left! : node.right!;
  return node.value;
}

// importance computes the shares; null: there are too few trials with a value.
export function importance(p: Problem, seed = 1): Result | null {
  const next = random(seed);
  let keep = [...p.ranks.keys()].filter((i) => !Number.isNaN(p.ranks[i]!));
  if (keep.length < minTrials || p.columns.length === 0) return null;
  if (keep.length > maxTrials) {
    for (let i = 0; i < maxTrials; i++) {
      const j = i + Math.floor(next() * (keep.length - i));
      [keep[i], keep[j]] = [keep[j]!, keep[i]!];
    }
    keep = keep.slice(0, maxTrials);
  }
  const y = Float32Array.from(keep, (i) => p.ranks[i]!);
  // A trial without the hyperparameter is beside all others: below the smallest.
  const x = p.columns.map((c) => Float32Array.from(keep, (i) => (Number.isNaN(c[i]!) ? -0.2 : c[i]!)));
  const n = keep.length;
  const mean = y.reduce((a, b) => a + b, 0) / n;
  const variance = y.reduce((a, b) => a + (b - mean) ** 2, 0) / n || 1;
  const keys = x.map(keysOf);
  const tried = Math.max(1, Math.ceil(x.length * 0.6));
  const found: number[][] = x.map(() => []);
  const sum = new Float64Array(n), count = new Uint16Array(n); // what trees predict for trials that they have not seen
  for (let f = 0; f < parts; f++) {
    const lost = x.map(() => 0);
    let seen = 0;
    for (let t = 0; t < trees; t++) {
      const inside = new Uint8Array(n);
      const rows = Int32Array.from({ length: n }, () => {
        const i = Math.floor(next() * n);
        inside[i] = 1;
        return i;
      });
      const tree = grow(x, keys, y, rows, 0, tried, next);
      const out = [...inside.keys()].filter((i) => !inside[i]);
      if (out.length < 2) continue;
      seen += out.length;
      for (const i of out) {
        const said = predict(tree, x, i, -1, -1);
        sum[i]! += said;
        count[i]!++;
        for (let c = 0; c < x.length; c++) {
          const other = out[Math.floor(next() * out.length)]!;
          lost[c]! += (predict(tree, x, i, c, other) - y[i]!) ** 2 - (said - y[i]!) ** 2;
        }
      }
    }
    // Shuffled, a column that decides everything makes errors of twice the variance.
    lost.forEach((v, c) => found[c]!.push(v / Math.max(1, seen) / variance / 2));
  }
  let error = 0, total = 0;
  for (let i = 0; i < n; i++) {
    if (!count[i]) continue;
    error += (sum[i]! / count[i]! - y[i]!) ** 2;
    total += (y[i]! - mean) ** 2;
  }
  const shares = found.map((list, c): Share => {
    const sorted = list.slice().sort((a, b) => a - b);
    const at = (q: number) => sorted[Math.round(q * (sorted.length - 1))]!;
    return { mean: list.reduce((a, b) => a + b, 0) / list.length, low: at(0.05), high: at(0.95), slope: slopeOf(keep.map((i) => p.columns[c]![i]!), y) };
  });
  return { shares, explained: total ? 1 - error / total : 0, trials: n };
}

// slopeOf is the correlation of the trials that have a place in a column.
function slopeOf(column: number[], y: Float32Array): number {
  const has = [...column.keys()].filter((i) => !Number.isNaN(column[i]!));
  return correlation(Float32Array.from(has, (i) => column[i]!), Float32Array.from(has, (i) => y[i]!));
}

// correlation is Spearman's: of the ranks of both.
export function correlation(x: Float32Array, y: Float32Array): number {
  const a = ranked(x), b = ranked(y);
  const n = a.length;
  let sa = 0, sb = 0;
  for (let i = 0; i < n; i++) {
    sa += a[i]!;
    sb += b[i]!;
  }
  let ab = 0, aa = 0, bb = 0;
  for (let i = 0; i < n; i++) {
    const u = a[i]! - sa / n, v = b[i]! - sb / n;
    ab += u * v;
    aa += u * u;
    bb += v * v;
  }
  return aa && bb ? ab / Math.sqrt(aa * bb) : NaN;
}

// ranked gives equal values the mean of their ranks.
export function ranked(x: Float32Array | Float64Array): Float32Array {
  const order = Array.from(x.keys()).sort((a, b) => x[a]! - x[b]!);
  const out = new Float32Array(x.length);
  for (let i = 0; i < order.length; ) {
    let j = i;
    while (j < order.length && x[order[j]!] === x[order[i]!]) j++;
    for (let k = i; k < j; k++) out[order[k]!] = (i + j - 1) / 2;
    i = j;
  }
  return out;
}
