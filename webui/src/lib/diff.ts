// The differences between two texts, line by line (Myers' algorithm), and between two trees.

export type Change = { kind: ' ' | '-' | '+'; text: string; left: number; right: number }; // numbers of lines from 1; 0: it has none there

const maxLines = 20_000;
const maxEdits = 1000; // beyond that, the middle is shown as replaced

// changes are the lines of both texts in order. Texts that differ too much are replaced as a whole.
export function changes(a: string, b: string): Change[] {
  const x = lines(a), y = lines(b);
  let first = 0;
  while (first < x.length && first < y.length && x[first] === y[first]) first++;
  let last = 0;
  while (last < x.length - first && last < y.length - first && x[x.length - 1 - last] === y[y.length - 1 - last]) last++;
  const out: Change[] = [];
  for (let i = 0; i < first; i++) out.push({ kind: ' ', text: x[i]!, left: i + 1, right: i + 1 });
  for (const c of middle(x.slice(first, x.length - last), y.slice(first, y.length - last))) {
    out.push({ ...c, left: c.left && c.left + first, right: c.right && c.right + first });
  }
  for (let i = last; i > 0; i--) out.push({ kind: ' ', text: x[x.length - i]!, left: x.length - i + 1, right: y.length - i + 1 });
  return out;
}

const lines = (s: string): string[] => (s === '' ? [] : s.replace(/\n$/, '').split('\n'));

function middle(x: string[], y: string[]): Change[] {
  const replaced = (): Change[] => [...x.map((text, i): Change => ({ kind: '-', text, left: i + 1, right: 0 })), ...y.map((text, i): Change => ({ kind: '+', text, left: 0, right: i + 1 }))];
  const n = x.length, m = y.length;
  if (!n || !m || n + m > maxLines) return replaced();
  const most = Math.min(n + m, maxEdits);
  let v = new Map<number, number>([[1, 0]]);
  const steps: Map<number, number>[] = [];
  for (let d = 0; d <= most; d++) {
    const next = new Map<number, number>();
    for (let k = -d; k <= d; k += 2) {
      let i = k === -d || (k !== d && (v.get(k - 1) ?? -1) < (v.get(k + 1) ?? -1)) ? v.get(k + 1) ?? 0 : (v.get(k - 1) ?? 0) + 1;
      while (i < n && i - k < m && x[i] === y[i - k]) i++;
      next.set(k, i);
      if (i >= n && i - k >= m) {
        steps.push(next);
        return back(x, y, steps);
      }
    }
    steps.push(next);
    v = next;
  }
  return replaced();
}

function back(x: string[], y: string[], steps: Map<number, number>[]): Change[] {
  const out: Change[] = [];
  let i = x.length, j = y.length;
  for (let d = steps.length - 1; d >= 0; d--) {
    const v = d ? steps[d - 1]! : new Map([[1, 0]]);
    const k = i - j;
    const down = k === -d || (k !== d && (v.get(k - 1) ?? -1) < (v.get(k + 1) ?? -1));
    const fromK = down ? k + 1 : k - 1;
    const fromI = v.get(fromK) ?? 0, fromJ = fromI - fromK;
    while (i > fromI && j > fromJ && i > 0 && j > 0 && x[i - 1] === y[j - 1]) {
      out.push({ kind: ' ', text: x[i - 1]!, left: i, right: j });
      i--;
      j--;
    }
    if (d === 0) break;
    if (down) out.push({ kind: '+', text: y[j - 1]!, left: 0, right: j });
    else out.push({ kind: '-', text: x[i - 1]!, left: i, right: 0 });
    i = fromI;
    j = fromJ;
  }
  return out.reverse();
}

// hunks removes equal lines, except a few lines around each change.
export function hunks(list: readonly Change[], around = 3): Change[][] {
  const keep = new Uint8Array(list.length);
  list.forEach((c, i) => {
    if (c.kind !== ' ') keep.fill(1, Math.max(0, i - around), i + around + 1);
  });
  const out: Change[][] = [];
  list.forEach((c, i) => {
    if (!keep[i]) return;
    if (i === 0 || !keep[i - 1]) out.push([]);
    out[out.length - 1]!.push(c);
  });
  return out;
}
