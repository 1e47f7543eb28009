import { expect, it } from 'vitest';
import { inOrder } from '../src/lib/order';

it('what has no value comes last in both directions', () => {
  const list = [NaN, 3, 1, NaN, 2];
  expect(list.slice().sort((a, b) => inOrder(a, b, false))).toEqual([1, 2, 3, NaN, NaN]);
  expect(list.slice().sort((a, b) => inOrder(a, b, true))).toEqual([3, 2, 1, NaN, NaN]);
  expect(['b10', 'b2'].sort((a, b) => inOrder(a, b, false))).toEqual(['b2', 'b10']);
});
