import { describe, expect, it } from 'vitest';
import { ApiError } from '../src/lib/api';
import { logOfTask, logOfTrial, merge, most, records, since, toLine, type Line } from '../src/lib/logs';
import { spans } from '../src/parts/LogView';

const line = (n: number): Line => ({ n, at: new Date(n * 1000).toISOString(), level: 'INFO', node: '', stderr: false, text: `line ${n}` });
const lines = (...numbers: number[]) => numbers.map(line);
const numbers = (list: Line[]) => list.map((l) => l.n);

function stream(...chunks: string[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start(c) {
      chunks.forEach((s) => c.enqueue(encoder.encode(s)));
      c.close();
    },
  });
}

describe('lines of a log', () => {
  it('are put in their order, once each', () => {
    expect(numbers(merge([], lines(3, 2, 1)))).toEqual([1, 2, 3]);
    expect(numbers(merge(lines(1, 2), lines(3, 4)))).toEqual([1, 2, 3, 4]);
    expect(numbers(merge(lines(3, 4), lines(1, 2)))).toEqual([1, 2, 3, 4]);
    expect(numbers(merge(lines(1, 3, 5), lines(2, 3, 4)))).toEqual([1, 2, 3, 4, 5]);
    const have = lines(1);
    expect(merge(have, [])).toBe(have);
    expect(merge(have, [...have])).toBe(have);
  });
  it('do not fill the memory', () => {
    const all = Array.from({ length: most }, (_, i) => line(i + 1));
    const more = merge(all, lines(most + 1, most + 2));
    expect(more).toHaveLength(most);
    expect(more[0]?.n).toBe(3);
  });
  it('of a trial are those of all its tasks', () => {
    expect([logOfTask('7.a-1'), logOfTrial(7)]).toEqual(['/api/v1/tasks/7.a-1/logs', '/api/v1/trials/7/logs']);
  });
  it('are followed from a little before the last', () => {
    expect(since([])).toBeUndefined();
    expect(since(lines(100, 200))).toBe(new Date(140_000).toISOString());
  });
  it('lose their end of line and nothing else', () => {
    expect(toLine({ id: '7', level: 'LOG_LEVEL_ERROR', log: '  a  \n', timestamp: 't', stdtype: 'stderr', rankId: 0 }))
      .toEqual({ n: 7, at: 't', level: 'ERROR', node: '', stderr: true, text: '  a  ', rank: 0 });
  });
});

describe('a stream of records', () => {
  it('is read across its pieces', async () => {
    const got: number[] = [];
    await records<number>(stream('{"result":1}\n{"res', 'ult":2}\n', '\n{"result":3}'), (lot) => got.push(...lot));
    expect(got).toEqual([1, 2, 3]);
  });
  it('keeps characters whole that were cut in two', async () => {
    const bytes = new TextEncoder().encode('{"result":"Größe 😀"}\n');
    const got: string[] = [];
    const body = new ReadableStream<Uint8Array>({
      start(c) {
        for (const b of bytes) c.enqueue(new Uint8Array([b]));
        c.close();
      },
    });
    await records<string>(body, (lot) => got.push(...lot));
    expect(got).toEqual(['Größe 😀']);
  });
  it('ends with the error that the master tells', async () => {
    const error = records(stream('{"result":1}\n{"error":{"httpCode":503,"message":"away"}}\n'), () => {});
    await expect(error).rejects.toThrowError(new ApiError(503, 'away'));
  });
});

describe('the colours of a line', () => {
  it('come from what the program wrote', () => {
    expect(spans('\u001b[31mred\u001b[0m plain', '')).toEqual([{ text: 'red', class: 'ansi-red' }, { text: ' plain', class: '' }]);
  });
  it('are text, whatever the program wrote', () => {
    expect(spans('<img src=x onerror=alert(1)>', '')).toEqual([{ text: '<img src=x onerror=alert(1)>', class: '' }]);
  });
  it('show what was searched for', () => {
    expect(spans('Loss and loss', 'LOSS').map((s) => [s.text, s.class.trim()])).toEqual([['Loss', 'found'], [' and ', ''], ['loss', 'found']]);
  });
});
