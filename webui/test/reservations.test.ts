import { expect, test } from 'vitest';
import { endOf, sentence, whatOf, whose } from '../src/lib/reservations';
import type { Reservation } from '../src/lib/types';

const reservation = (part: Partial<Reservation>): Reservation => ({
  id: 1, resourcePool: 'gpu', workspaceId: 0, workspaceName: '', userId: 0, username: '', slots: 0, agents: [], startTime: '2026-12-01T18:00:00', endTime: '2026-12-01T22:00:00',
  note: '', createdBy: '', active: false, ...part,
});

test('a reservation says what it holds, for whom and when', () => {
  const vision = reservation({ slots: 16, workspaceId: 2, workspaceName: 'vision' });
  expect(sentence(vision)).toBe('16 slots of gpu are reserved for workspace vision from 2026-12-01 18:00:00 to 2026-12-01 22:00:00');
  expect(sentence(reservation({ slots: 1, userId: 3, username: 'ben' }))).toMatch(/^1 slot of gpu is reserved for ben from /);
  expect(whose({ ...vision, username: 'ben' })).toBe('ben in workspace vision');
  expect(whose(reservation({ slots: 2 }))).toBe('another workspace');
});

test('a maintenance names its nodes', () => {
  expect(sentence(reservation({ agents: ['n3'] }))).toMatch(/^node n3 is in maintenance from /);
  expect(sentence(reservation({ agents: ['n3', 'n4'] }))).toMatch(/^nodes n3, n4 are in maintenance from /);
  expect(whatOf({ agents: [], slots: 1 })).toBe('1 slot');
  expect(whose(reservation({ agents: ['n3'] }))).toBe('maintenance');
});

test('a reservation ends after its length', () => {
  const from = new Date('2026-12-01T18:00:00Z');
  expect(endOf(from, '90m').toISOString()).toBe('2026-12-01T19:30:00.000Z');
  expect(endOf(from, '1.5d').toISOString()).toBe('2026-12-03T06:00:00.000Z');
  for (const wrong of ['', '4', '-1h', '0h', 'h', '4 weeks']) expect(() => endOf(from, wrong)).toThrow('For how long');
});
