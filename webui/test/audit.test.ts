import { describe, expect, it } from 'vitest';
import { all, asked, lines, local, outcome, pageOf, utc } from '../src/lib/audit';
import type { AuditEntry } from '../src/lib/types';

const entry = (id: number): AuditEntry => ({
  id: String(id), time: '2026-11-20T23:17:12Z', endTime: null, times: 1, userId: 2, username: 'ada', credential: 'session 12', address: '10.0.0.1', method: 'POST', path: '/x',
  verb: 'change', kind: 'experiment', object: String(id), workspaceId: 1, status: 200,
});

describe('the filters of the audit trail', () => {
  it('are those of the address, without empty ones and without what is no time', () => {
    expect(asked(new URLSearchParams('username=%20ada%20&verb=&kind=experiment&failed=1&since=2026-11-20T10:00:00Z&until=yesterday&cols=user&entry=4'))).toEqual({
      username: 'ada', kind: 'experiment', failed: 'true', since: '2026-11-20T10:00:00.000Z',
    });
    expect(asked(new URLSearchParams(''))).toEqual({});
  });
  it('have times that a field of the browser shows in local time, and gives back', () => {
    for (const iso of ['2026-11-20T10:30:00Z', '2026-03-29T01:30:00Z', '2026-07-01T23:59:00Z']) expect(utc(local(iso))).toBe(iso);
    expect([local(null), local('x'), utc(''), utc('x')]).toEqual(['', '', '', '']);
  });
});

describe('an entry', () => {
  it.each([[200, 'good', 'done'], [204, 'good', 'done'], [401, 'bad', 'no sign-in'], [403, 'bad', 'refused'], [500, 'bad', 'failed (500)'], [null, 'wait', 'unknown']] as const)('with status %s is %s: %s', (status, kind, word) => {
    expect(outcome({ status })).toEqual({ kind, word });
  });
  it.each([
    ['experiment', '12', '/experiments/12'], ['trial', '7/2', '/trials/7'], ['notebook', '2fb1c3e0-1111-4222-8333-444455556666', '/tasks/2fb1c3e0-1111-4222-8333-444455556666'], ['task', '8.2fb1c3e0', null],
    ['workspace', '3', '/workspaces/3'], ['group', '5', '/manage/groups/5'], ['experiment', '', null], ['experiment', '../users', null], ['notebook', 'javascript:alert(1)', null], ['user', '3', null], ['model', 'm', null],
  ])('about %s %j leads to %s', (kind, object, to) => {
    expect(pageOf({ kind, object })).toBe(to);
  });
});

describe('an export', () => {
  // trail answers as the master does: the newest first, so many at once.
  const trail = (total: number, lot: number) => {
    const asks: string[] = [];
    const read = async (before: string) => {
      asks.push(before);
      const first = before ? Number(before) - 1 : total;
      const list = Array.from({ length: Math.min(lot, first) }, (_, i) => entry(first - i));
      return { entries: list, next: list.length === lot ? list.at(-1)!.id : null };
    };
    return { asks, read };
  };
  it('has every entry once, also when the last part is full', async () => {
    for (const total of [0, 1, 9, 10, 11, 30]) {
      const { read } = trail(total, 10);
      const seen: number[] = [];
      const { list, cut } = await all(read, (n) => seen.push(n));
      expect(list.map((e) => Number(e.id))).toEqual(Array.from({ length: total }, (_, i) => total - i));
      expect(cut).toBe(false);
      expect(seen.at(-1)).toBe(total);
    }
  });
  it('ends at its limit, and says so', async () => {
    const { read, asks } = trail(1000, 10);
    const { list, cut } = await all(read, () => {}, 25);
    expect([list.length, cut, asks]).toEqual([25, true, ['', '991', '981']]);
  });
  it('is lines of JSON', () => {
    const text = lines([{ ...entry(1), error: 'line one\nline two' }, entry(2)]);
    const back = text.trimEnd().split('\n').map((l) => JSON.parse(l));
    expect(back.map((e) => e.id)).toEqual(['1', '2']);
    expect(back[0].error).toBe('line one\nline two');
  });
});
