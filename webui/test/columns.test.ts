import { expect, it } from 'vitest';
import { moved, readColumns, shifted, writeColumns } from '../src/lib/columns';

it('columns are a word, and come back from it', () => {
  expect(readColumns('id,name:320,hp.lr,id')).toEqual([{ key: 'id' }, { key: 'name', width: 320 }, { key: 'hp.lr' }]);
  expect(writeColumns(readColumns('id,name:320,hp.lr'))).toBe('id,name:320,hp.lr');
  expect(readColumns('')).toEqual([]);
  expect(readColumns(null)).toEqual([]);
  expect(readColumns('a:1,b:999999')).toEqual([{ key: 'a', width: 44 }, { key: 'b', width: 1600 }]);
});

it('columns change their places', () => {
  const list = [...'abcd'].map((key) => ({ key }));
  const word = (l: { key: string }[]) => l.map((c) => c.key).join('');
  expect(word(moved(list, 'd', 'b'))).toBe('adbc');
  expect(word(moved(list, 'a', null))).toBe('bcda');
  expect(word(moved(list, 'a', 'a'))).toBe('abcd');
  expect(word(moved(list, 'x', 'a'))).toBe('abcd');
  expect(word(shifted(list, 'b', 1))).toBe('acbd');
  expect(word(shifted(list, 'a', -1))).toBe('abcd');
  expect(word(shifted(list, 'd', 1))).toBe('abcd');
});
