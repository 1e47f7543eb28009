import { expect, test } from 'vitest';
import { runInWandB } from '../src/lib/wandb';

const at = (wandb: unknown) => runInWandB({ integrations: { wandb } }, '3.f00d');

test('a trial leads to its run in W&B', () => {
  expect(at({ entity: 'vision', project: 'big shapes' })).toBe('https://wandb.ai/vision/big%20shapes/runs/3.f00d');
  expect(at({ entity: 'a', project: 'b', base_url: 'https://wandb.example.com/' })).toBe('https://wandb.example.com/a/b/runs/3.f00d');
});

test('without the names, or with an address that no browser should open, there is no link', () => {
  for (const section of [undefined, null, {}, { entity: 'a' }, { project: 'b' }, { entity: 1, project: 2 }, { entity: 'a', project: 'b', base_url: 'javascript:alert(1)' }, { entity: 'a', project: 'b', base_url: '//x' }]) {
    expect(at(section)).toBeUndefined();
  }
  expect(runInWandB(undefined, 'x')).toBeUndefined();
});
