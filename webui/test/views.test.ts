import { expect, it } from 'vitest';
import { isAt, viewsOf } from '../src/lib/views';

it('views are settings with an address of these pages', () => {
  const views = viewsOf({ theme: 'dark', 'view.b': '/experiments?name=x', 'view.a 10': '/projects/3', 'view.a 9': '/projects/2', 'view.evil': 'https://example.org', 'view.worse': '//example.org', 'view.js': 'javascript:alert(1)' });
  expect(views.map((v) => v.name)).toEqual(['a 9', 'a 10', 'b']);
  expect(viewsOf(undefined)).toEqual([]);
});

it('a view is on show whatever the order of its parameters', () => {
  const v = { name: 'x', to: '/experiments?a=1&b=2' };
  expect(isAt(v, '/experiments?b=2&a=1')).toBe(true);
  expect(isAt(v, '/experiments?a=1')).toBe(false);
  expect(isAt(v, '/projects/1?a=1&b=2')).toBe(false);
});
