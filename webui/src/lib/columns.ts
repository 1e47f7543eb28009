// The columns of a table, with their order and widths, as a word in the address and in the stored
// settings, such as "id,name:320,state".

export interface Chosen {
  key: string;
  width?: number; // in pixels, where somebody changed it
}

const least = 44;
const most = 1600;

export function readColumns(text: string | null | undefined): Chosen[] {
  const seen = new Set<string>();
  const out: Chosen[] = [];
  for (const part of (text ?? '').split(',')) {
    const [, key = '', width] = /^(.*?)(?::(\d+))?$/.exec(part) ?? [];
    if (!key || seen.has(key)) continue;
    seen.add(key);
    out.push(width ? { key, width: fit(Number(width)) } : { key });
  }
  return out;
}

export const writeColumns = (list: readonly Chosen[]): string => list.map((c) => (c.width ? `${c.key}:${Math.round(c.width)}` : c.key)).join(',');

export const fit = (width: number): number => Math.round(Math.max(least, Math.min(most, width)));

// moved puts a column before another, or at the end.
export function moved<T extends { key: string }>(list: readonly T[], key: string, before: string | null): T[] {
  const it = list.find((c) => c.key === key);
  if (!it || key === before) return list.slice();
  const rest = list.filter((c) => c.key !== key);
  const at = before === null ? -1 : rest.findIndex((c) => c.key === before);
  return at < 0 ? [...rest, it] : [...rest.slice(0, at), it, ...rest.slice(at)];
}

// shifted moves a column by one place.
export function shifted<T extends { key: string }>(list: readonly T[], key: string, by: 1 | -1): T[] {
  const at = list.findIndex((c) => c.key === key);
  const to = at + by;
  if (at < 0 || to < 0 || to >= list.length) return list.slice();
  const next = list.slice();
  [next[at], next[to]] = [next[to]!, next[at]!];
  return next;
}
