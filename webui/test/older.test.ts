import { describe, expect, it } from 'vitest';
import { joined } from '../src/lib/older';

const entries = (...ids: number[]) => ids.map((id) => ({ id: String(id), state: 'new' }));

describe('a list that is loaded from its newest entry on', () => {
  it('loses no entry when its first part is loaded again', () => {
    const known = [...entries(5, 4, 3), ...entries(2, 1)];
    expect(joined(entries(8, 7, 6), known).map((e) => e.id)).toEqual(['8', '7', '6', '5', '4', '3', '2', '1']);
  });
  it('takes entries of the new part in place of known ones', () => {
    const known = [{ id: '2', state: 'WAITING' }, { id: '1', state: 'WAITING' }];
    expect(joined([{ id: '2', state: 'DELIVERED' }], known)).toEqual([{ id: '2', state: 'DELIVERED' }, { id: '1', state: 'WAITING' }]);
    expect(joined([], known)).toEqual(known);
  });
});
