import { expect, it } from 'vitest';
import { continuable } from '../src/lib/states';

it.each<[string, string, boolean, boolean]>([
  ['single', 'STATE_COMPLETED', false, true], ['single', 'STATE_ERROR', false, true], ['single', 'STATE_ACTIVE', false, false], ['single', 'STATE_COMPLETED', true, false],
  ['random', 'STATE_COMPLETED', false, false], ['random', 'STATE_CANCELED', false, true], ['grid', 'STATE_ERROR', false, true],
  ['adaptive_asha', 'STATE_ERROR', false, false], ['', 'STATE_ERROR', false, false],
])('%s that is %s (unmanaged %s) continues: %s', (name, state, unmanaged, want) => expect(continuable({ state, unmanaged, config: { searcher: { name } } })).toBe(want));
