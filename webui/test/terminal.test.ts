import { expect, test } from 'vitest';
import { addressOf, bytesOf, endOf, partSize, partsOf, Shown } from '../src/lib/terminal';

test('input is sent in parts, in order and whole', () => {
  const bytes = Uint8Array.from({ length: partSize * 2 + 7 }, (_, i) => i % 251);
  const parts = partsOf(bytes);
  expect(parts.map((p) => p.length)).toEqual([partSize, partSize, 7]);
  expect(Uint8Array.from(parts.flatMap((p) => [...p]))).toEqual(bytes);
  expect(partsOf(new Uint8Array())).toEqual([]);
});

test('each character of a binary text is a byte', () => {
  expect([...bytesOf('\x1b[M\u00ff\u0080')]).toEqual([27, 91, 77, 255, 128]);
});

test('the master learns what was shown before it stops at 256 KiB', () => {
  const shown = new Shown();
  const told: string[] = [];
  for (let i = 0; i < 100; i++) {
    const word = shown.add(1000);
    if (word) told.push(word);
  }
  expect(told).toEqual([32_000, 64_000, 96_000].map((n) => JSON.stringify({ shown: n })));
});

test('the address is of the page\'s own origin, and has no token', () => {
  expect(addressOf('https://master.example/tasks/x?view=terminal', 'a b', 80, 24)).toBe('wss://master.example/api/v1/detent/shells/a%20b/terminal?columns=80&rows=24');
  expect(addressOf('http://127.0.0.1:8080/', 'x', 1, 2)).toBe('ws://127.0.0.1:8080/api/v1/detent/shells/x/terminal?columns=1&rows=2');
});

test('an end says why', () => {
  expect(endOf(1000, 'The shell has ended with exit status 7.')).toContain('status 7');
  expect(endOf(4503, 'This shell is queued.')).toBe('This shell is queued.');
  expect(endOf(4401, 'the session has ended')).toContain('Sign in');
  for (const code of [1001, 1006, 1011]) expect(endOf(code, '')).toContain('lost');
});
