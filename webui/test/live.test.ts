import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connection, follow, often } from '../src/lib/live';

// Stream stands for the browser's EventSource; the test is the master.
class Stream extends EventTarget {
  static CLOSED = 2;
  static made: Stream[] = [];
  readyState = 1;
  onerror: (() => void) | null = null;
  constructor(readonly url: string) {
    super();
    Stream.made.push(this);
  }
  send(name: string, data: unknown, lastEventId: string) {
    this.dispatchEvent(Object.assign(new Event(name), { data: JSON.stringify(data), lastEventId }));
  }
  close() {
    this.readyState = Stream.CLOSED;
  }
}

const page = Object.assign(new EventTarget(), { hidden: false });
const hide = (hidden: boolean) => {
  page.hidden = hidden;
  page.dispatchEvent(new Event('visibilitychange'));
};

beforeEach(() => {
  vi.useFakeTimers();
  Stream.made = [];
  page.hidden = false;
  vi.stubGlobal('EventSource', Stream);
  vi.stubGlobal('document', page);
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('{}', { status: 200 })));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('following', () => {
  it('hands on what comes, and says when it is up to date', () => {
    const seen: unknown[] = [];
    const stop = follow({ trials: [3, 4], onReady: () => seen.push('ready'), onMetrics: (m) => seen.push(m), onLook: (l) => seen.push(l), onExperiment: (e) => seen.push(e.id) });
    const s = Stream.made[0]!;
    expect(s.url).toBe('/api/v1/detent/live?trials=3&trials=4');
    s.send('position', {}, '1-0/a-0');
    expect(connection.value).toBe('live');
    s.send('metrics', { trialId: 3 }, '2-1/a-0');
    s.send('experiment', { id: 9 }, '2-1/a-0');
    s.send('look', { what: [], gone: [] }, '2-1/a-1');
    s.send('look', { what: ['tasks'], gone: [] }, '2-1/a-2');
    expect(seen).toEqual(['ready', { trialId: 3 }, 9, { what: ['tasks'], gone: [] }]);
    stop();
    expect(s.readyState).toBe(Stream.CLOSED);
  });

  it('lets go of its connection while nobody looks, and goes on where it was', () => {
    const stop = follow({});
    Stream.made[0]!.send('position', {}, '5-1/a-3');
    hide(true);
    expect(Stream.made[0]!.readyState).toBe(Stream.CLOSED);
    hide(false);
    expect(Stream.made[1]!.url).toBe(`/api/v1/detent/live?after=${encodeURIComponent('5-1/a-3')}`);
    stop();
    hide(true);
    hide(false);
    expect(Stream.made).toHaveLength(2);
  });

  it('says that the connection is lost when it does not come back soon, and tries again', () => {
    const stop = follow({});
    const s = Stream.made[0]!;
    s.send('position', {}, '5-1/a-3');
    s.onerror?.();
    expect(connection.value).toBe('live');
    vi.advanceTimersByTime(4000);
    expect(connection.value).toBe('lost');
    s.readyState = Stream.CLOSED;
    s.onerror?.();
    vi.advanceTimersByTime(6000);
    expect(Stream.made).toHaveLength(2);
    Stream.made[1]!.send('position', {}, '5-1/a-4');
    expect(connection.value).toBe('live');
    stop();
    expect(connection.value).toBe('idle');
  });
});

describe('often', () => {
  it('is once at once, and once more for all that came in between', () => {
    let n = 0;
    const call = often(() => n++, 100);
    call();
    call();
    call();
    expect(n).toBe(1);
    vi.advanceTimersByTime(100);
    expect(n).toBe(2);
    vi.advanceTimersByTime(500);
    expect(n).toBe(2);
    call();
    expect(n).toBe(3);
  });
});
