import { expect, it } from 'vitest';
import { read } from '../src/lib/draft';
import { sectionOf } from '../src/lib/secrets';

const mounted = (name: string, ...keys: string[]) => {
  const { draft, problem } = read(sectionOf({ name, keys, workspaces: [], everywhere: true }));
  expect(problem ?? '').toBe('');
  return (draft as unknown as { environment: { secrets: unknown } }).environment.secrets;
};

it('a section mounts each key as a variable of its own', () => {
  expect(mounted('tracker', 'token', 'account.id')).toEqual([
    { name: 'tracker', key: 'token', env: 'TRACKER_TOKEN' },
    { name: 'tracker', key: 'account.id', env: 'TRACKER_ACCOUNT_ID' },
  ]);
  expect(mounted('own')).toEqual([{ name: 'own', key: 'KEY', env: 'OWN_KEY' }]);
});

it('names that YAML or the platform would take for something else stay what they are', () => {
  expect(mounted('9lives', 'no')).toEqual([{ name: '9lives', key: 'no', env: 'MY_9LIVES_NO' }]);
  expect(mounted('det', '1e3')).toEqual([{ name: 'det', key: '1e3', env: 'MY_DET_1E3' }]);
});
