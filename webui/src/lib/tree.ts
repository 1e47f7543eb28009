// Trees as lists: each entry is followed by the entries below it.

export interface Place<T> {
  item: T;
  depth: number;
}

interface Node {
  id: string;
  parentId?: string | null;
}

// flatten keeps the order of siblings. An entry whose parent is not in the list is a root; if parents
// form a ring, one of the entries is a root.
export function flatten<T extends Node>(list: readonly T[]): Place<T>[] {
  const known = new Set(list.map((n) => n.id));
  const below = new Map<string, T[]>();
  for (const n of list) {
    const parent = n.parentId && known.has(n.parentId) ? n.parentId : '';
    below.set(parent, [...(below.get(parent) ?? []), n]);
  }
  const out: Place<T>[] = [];
  const seen = new Set<string>();
  const walk = (from: readonly T[], depth: number) => {
    for (const item of from) {
      if (seen.has(item.id)) continue;
      seen.add(item.id);
      out.push({ item, depth });
      walk(below.get(item.id) ?? [], depth + 1);
    }
  };
  walk(below.get('') ?? [], 0);
  for (const item of list) walk([item], 0);
  return out;
}

// treeOf are all that belong to one's tree: its root and everything below.
export function treeOf<T extends Node>(list: readonly T[], id: string): Place<T>[] {
  const by = new Map(list.map((n) => [n.id, n]));
  let root = by.get(id);
  const seen = new Set<string>();
  while (root?.parentId && by.has(root.parentId) && !seen.has(root.id)) {
    seen.add(root.id);
    root = by.get(root.parentId);
  }
  if (!root) return [];
  const all = flatten(list);
  const from = all.findIndex((p) => p.item.id === root.id);
  let to = from + 1;
  while (to < all.length && all[to]!.depth > all[from]!.depth) to++;
  return all.slice(from, to).map((p) => ({ ...p, depth: p.depth - all[from]!.depth }));
}
