import { expect, it } from 'vitest';
import { best, score } from '../src/lib/rank';

it('what begins so comes before what only has it', () => {
  const names = ['my notebook', 'Start a notebook', 'notebook', 'a-net', 'nothing', 'knotebooks'];
  expect(best('note', names, (n) => n, 9)).toEqual(['notebook', 'my notebook', 'Start a notebook', 'knotebooks']);
  expect(best('', names, (n) => n, 2)).toHaveLength(2);
});

it('initials and several words find too, but not any letters', () => {
  expect(score('sn', 'start notebook')).toBeGreaterThan(0);
  expect(score('book start', 'Start a notebook')).toBeGreaterThan(0);
  expect(score('zz', 'Start a notebook')).toBe(0);
  expect(score('aoo', 'Start a notebook')).toBe(0);
});
