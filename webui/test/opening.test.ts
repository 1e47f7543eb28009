import { describe, expect, it } from 'vitest';
import { askFirst, noteOpening, ownPath, wasOpened } from '../src/lib/opening';

function memory() {
  const kept = new Map<string, string>();
  return { getItem: (k: string) => kept.get(k) ?? null, setItem: (k: string, v: string) => void kept.set(k, v), removeItem: (k: string) => void kept.delete(k) };
}

it('a click opens its own task, once, for a minute', () => {
  const store = memory();
  expect(wasOpened('a', 0, store)).toBe(false);
  noteOpening('a', 1000, store);
  expect(wasOpened('b', 1001, store)).toBe(false);
  expect(wasOpened('a', 1001, store)).toBe(true);
  expect(wasOpened('a', 1002, store)).toBe(false);
  noteOpening('a', 1000, store);
  expect(wasOpened('a', 61_001, store)).toBe(false);
  noteOpening('a', 1_000_000, store); // the clock was set back
  expect(wasOpened('a', 1000, store)).toBe(false);
});

it('without storage, or with another text in it, the page asks', () => {
  expect(wasOpened('a', 0, undefined)).toBe(false);
  for (const text of ['{', '"a"', '{"id":"a"}', '{"id":"a","until":"9"}', 'null']) {
    expect(wasOpened('a', 0, { ...memory(), getItem: () => text })).toBe(false);
  }
});

it.each([
  ['/proxy/a/', '/proxy/a/?det-ask='],
  ['/proxy/a/lab?x=1#cell', '/proxy/a/lab?x=1&det-ask=#cell'],
  ['/det/../proxy/a/', '/proxy/a/?det-ask='],
  ['/%2e%2e/proxy/a/', '/proxy/a/?det-ask='],
  ['https://master.test/proxy/a/', '/proxy/a/?det-ask='],
  ['https://elsewhere.test/proxy/a/', 'https://elsewhere.test/proxy/a/'],
  ['/tasks/a', '/tasks/a'],
  ['mailto:a@b.test', 'mailto:a@b.test'],
  ['#part', '#part'],
])('a link to %s', (to, want) => {
  expect(askFirst(to, 'https://master.test/projects/1')).toBe(want);
});

describe('the page after a sign-in', () => {
  const base = 'https://det.example.com/login';
  it('is one of these pages', () => {
    for (const own of ['/experiments', '/experiments/3?tab=logs#end', '/proxy/1/', '/wait/notebooks/1']) expect(ownPath(own, base)).toBe(own);
    expect(ownPath('/a/../b', base)).toBe('/b');
  });
  it('is never elsewhere', () => {
    for (const other of ['', 'x', '//evil.example/', '/\\evil.example/', '/\t/evil.example/proxy/x', '/\n/evil.example', '/\r\\evil.example', '\t//evil.example',
      'https://evil.example/', 'javascript:alert(1)', '/..//evil.example', '/.//evil.example']) expect(ownPath(other, base), other).toBe(null);
  });
});
