import { expect, it } from 'vitest';
import { flatten, treeOf } from '../src/lib/tree';

const n = (id: string, parentId: string | null = null) => ({ id, parentId });
const words = (list: { item: { id: string }; depth: number }[]) => list.map((p) => `${'-'.repeat(p.depth)}${p.item.id}`).join(' ');

it('what is below follows, in the order of the list', () => {
  const list = [n('leaf', 'left'), n('other'), n('right', 'root'), n('root'), n('left', 'root'), n('orphan', 'gone')];
  expect(words(flatten(list))).toBe('other root -right -left --leaf orphan');
  expect(words(treeOf(list, 'leaf'))).toBe('root -right -left --leaf');
  expect(words(treeOf(list, 'other'))).toBe('other');
  expect(treeOf(list, 'none')).toEqual([]);
});

it('a ring ends', () => {
  const ring = [n('a', 'c'), n('b', 'a'), n('c', 'b'), n('self', 'self')];
  expect(words(flatten(ring))).toBe('a -b --c self');
  expect(treeOf(ring, 'b').length).toBeGreaterThan(0);
});
