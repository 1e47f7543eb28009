// The differences between two texts, line by line, and the parts of them that are shown.
import { diffArrays } from 'diff';

export type Change = { kind: ' ' | '-' | '+'; text: string; left: number; right: number }; // numbers of lines from 1; 0: it has none there

const maxEdits = 1000; // texts that differ more are shown as replaced as a whole

// changes are the lines of both texts in order.
export function changes(a: string, b: string): Change[] {
  const x = lines(a), y = lines(b);
  const parts = diffArrays(x, y, { maxEditLength: maxEdits }) ?? [{ removed: true, value: x }, { added: true, value: y }];
  const out: Change[] = [];
  let left = 0, right = 0;
  for (const part of parts) {
    for (const text of part.value) {
      if (part.removed) out.push({ kind: '-', text, left: ++left, right: 0 });
      else if (part.added) out.push({ kind: '+', text, left: 0, right: ++right });
      else out.push({ kind: ' ', text, left: ++left, right: ++right });
    }
  }
  return out;
}

const lines = (s: string): string[] => (s === '' ? [] : s.replace(/\n$/, '').split('\n'));

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
