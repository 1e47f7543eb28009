import { expect, it } from 'vitest';
import { actions, hindrance, leftOut } from '../src/lib/actions';

const e = (id: number, state: string, archived = false) => ({ id, state: `STATE_${state}`, archived });
const action = (verb: string) => actions.find((a) => a.verb === verb)!;

it('says of several which are left out, and why', () => {
  const list = [e(1, 'RUNNING'), e(2, 'PAUSED'), e(3, 'COMPLETED'), e(4, 'COMPLETED'), e(5, 'ERROR', true)];
  expect(leftOut(action('pause'), list)).toBe('Left out: 2 is paused; 3, 4 have ended (completed); 5 has ended (error).');
  expect(leftOut(action('delete'), list)).toBe('Left out: 1 is running, and has to end first; 2 is paused, and has to end first.');
  expect(leftOut(action('archive'), list)).toContain('5 is in the archive already');
  expect(leftOut(action('kill'), [e(1, 'RUNNING')])).toBe('');
  expect(leftOut(action('pause'), Array.from({ length: 8 }, (_, i) => e(i + 1, 'COMPLETED')))).toBe('Left out: 1, 2, 3, 4, 5 and 3 others have ended (completed).');
});

it('has a reason exactly where an action does not fit', () => {
  for (const a of actions) {
    for (const state of ['RUNNING', 'PAUSED', 'COMPLETED', 'ERROR', 'STOPPING_CANCELED', 'DELETING']) {
      for (const archived of [false, true]) expect(hindrance(a, e(1, state, archived)) === '', `${a.verb} ${state} ${archived}`).toBe(a.fits(e(1, state, archived)));
    }
  }
});
