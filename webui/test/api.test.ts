import { afterEach, describe, expect, it, vi } from 'vitest';
import { api, ApiError, onSignedOut, request, whole } from '../src/lib/api';

const answer = (status: number, body: unknown) => vi.stubGlobal('fetch', () => Promise.resolve(new Response(typeof body === 'string' ? body : JSON.stringify(body), { status })));
const failing = async (p: Promise<unknown>): Promise<ApiError> => p.then(() => expect.unreachable('it went well'), (e) => e);

afterEach(() => vi.unstubAllGlobals());

describe('errors', () => {
  it('are what the master says', async () => {
    answer(409, { error: { code: 6, reason: 'Conflict', error: 'experiment 3 is over' }, message: 'experiment 3 is over' });
    const e = await failing(api.act(3, 'pause'));
    expect(e).toMatchObject({ status: 409, message: 'experiment 3 is over', away: false });
  });
  it('say that nobody answers', async () => {
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch')));
    const e = await failing(request('/api/v1/me'));
    expect(e.away).toBe(true);
    expect(e.message).toContain('does not answer');
  });
  it('tell an ingress from the master', async () => {
    answer(502, '<html>Bad Gateway</html>');
    const e = await failing(request('/api/v1/me'));
    expect(e).toMatchObject({ status: 502, away: true });
    expect(e.message).not.toContain('<');
  });
  it('lead to the sign-in, but a wrong password does not', async () => {
    let out = 0;
    onSignedOut(() => out++);
    answer(401, { message: 'the session is over' });
    await failing(api.me());
    expect(out).toBe(1);
    await failing(api.login('a', 'b'));
    expect(out).toBe(1);
  });
});

describe('requests', () => {
  it('name what they want', async () => {
    const seen: [string, RequestInit][] = [];
    vi.stubGlobal('fetch', (path: string, init: RequestInit) => {
      seen.push([path, init]);
      return Promise.resolve(new Response(JSON.stringify({ notebooks: [{ id: 'n' }], experiments: [], pagination: { total: 0 } })));
    });
    expect(await api.tasks('notebooks')).toEqual([{ id: 'n' }]);
    await api.experiments({ states: ['STATE_ACTIVE'], name: '' });
    await api.deleteExperiment(4);
    expect(seen.map(([path, init]) => `${init.method ?? 'GET'} ${path}`)).toEqual([
      'GET /api/v1/notebooks?orderBy=ORDER_BY_DESC&sortBy=SORT_BY_START_TIME',
      'GET /api/v1/experiments?states=STATE_ACTIVE',
      'DELETE /api/v1/experiments/4',
    ]);
    expect(seen.every(([, init]) => init.credentials === 'same-origin')).toBe(true);
  });
});

it('a list is read to its end, however short its pages are', async () => {
  const asked: unknown[] = [];
  const rows = [1, 2, 3, 4, 5];
  const all = await whole(async ({ offset = 0 }) => {
    asked.push(offset);
    return { rows: rows.slice(Number(offset), Number(offset) + 2), pagination: { total: 5 } };
  });
  expect(all).toEqual(rows);
  expect(asked).toEqual([0, 2, 4]);
  expect(await whole(async () => ({ rows: [], pagination: { total: 3 } }))).toEqual([]); // rows were deleted meanwhile
});
