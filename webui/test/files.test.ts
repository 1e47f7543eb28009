import { expect, it } from 'vitest';
import { base64, below, excluded, pack, size } from '../src/lib/files';

it('files are sent below their folder, with the folders between', async () => {
  const file = (text: string) => new Blob([text]);
  expect(below({ name: 'a.py' })).toBe('a.py');
  expect(below({ name: 'a.py', webkitRelativePath: 'code/lib/a.py' })).toBe('lib/a.py');
  const sent = await pack([{ path: 'x/y/a.py', file: file('print(1)') }, { path: 'b', file: file('') }]);
  expect(sent.map((f) => [f.path, f.type, f.content])).toEqual([['x', 53, ''], ['x/y', 53, ''], ['x/y/a.py', 48, btoa('print(1)')], ['b', 48, '']]);
  expect(size([{ path: 'a', file: file('1234') }, { path: 'b', file: file('56') }])).toBe(6);
});

it('caches and version control stay here', () => {
  expect(['.git/config', 'a/__pycache__/x.pyc', 'node_modules/x'].every(excluded)).toBe(true);
  expect(['a.py', 'git/x', '.gitignore'].some(excluded)).toBe(false);
});

it('bytes of any size become text', () => {
  const bytes = new Uint8Array(100_000).map((_, i) => i % 256);
  expect(Uint8Array.from(atob(base64(bytes)), (c) => c.charCodeAt(0))).toEqual(bytes);
});
