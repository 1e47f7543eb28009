import { expect, it } from 'vitest';
import { program, until } from '../src/lib/sessions';

it.each([
  ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36', 'Chrome on Linux'],
  ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0 Safari/537.36', 'Chrome on Linux'],
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0', 'Edge on Windows'],
  ['Mozilla/5.0 (Macintosh; Intel Mac OS X 14.5; rv:130.0) Gecko/20100101 Firefox/130.0', 'Firefox on macOS'],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1', 'Safari on iOS'],
  ['Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36', 'Chrome on Android'],
  ['det/0.38.1', 'det/0.38.1'], ['', 'an unknown program'], ['Mozilla/5.0 (something else)', 'Mozilla/5.0 (something else)'],
])('%s is %s', (agent, name) => {
  expect(program(agent)).toBe(name);
});

it('says when a sign-in ends', () => {
  const now = Date.parse('2026-11-23T12:00:00Z');
  const at = (h: number) => new Date(now + h * 3_600_000).toISOString();
  expect([until(at(-1), now), until(at(0.5), now), until(at(1.2), now), until(at(30), now), until(at(24 * 6.6), now), until(null, now), until('x', now)])
    .toEqual(['over', 'within the hour', 'in 1 hour', 'in 30 hours', 'in 7 days', '–', '–']);
});
