import { expect, test } from 'vitest';
import { ApiError } from '../src/lib/api';
import { searchFor, wrongAt } from '../src/lib/find';

const nothing = { where: '', name: '', owner: '', states: [], archived: '', sort: 'id', desc: true };

test('a search asks for what the list would', () => {
  const plain = searchFor({ ...nothing, where: 'hp.lr < 1' });
  expect(plain.query).toBe('hp.lr < 1');
  expect(plain.sort).toBe('id=desc');
  expect(JSON.parse(String(plain.filter))).toEqual({ filterGroup: { kind: 'group', conjunction: 'and', children: [] }, showArchived: false });
  const all = searchFor({ ...nothing, name: 'a', owner: 'ida', states: ['ERROR', 'PAUSED'], archived: 'only', sort: 'trials', desc: false });
  expect(all.sort).toBe('numTrials=asc');
  const { filterGroup, showArchived } = JSON.parse(String(all.filter));
  expect(showArchived).toBe(true);
  expect(filterGroup.children.map((c: { columnName?: string }) => c.columnName)).toEqual(['name', 'user', undefined, 'archived']);
  expect(filterGroup.children[2].children.map((c: { value: string }) => c.value)).toEqual(['ERROR', 'PAUSED']);
});

test('the place of a mistake is found in the message', () => {
  expect(wrongAt(new ApiError(400, 'query: column 7: there is no column "x"; did\nyou mean y?'))).toEqual({ at: 6, message: 'there is no column "x"; did\nyou mean y?' });
  expect(wrongAt(new ApiError(400, 'sort: invalid'))).toBeNull();
  expect(wrongAt(new ApiError(503, 'query: column 7: x'))).toBeNull();
  expect(wrongAt(new Error('query: column 7: x'))).toBeNull();
});
