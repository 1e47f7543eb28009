import { describe, expect, it } from 'vitest';
import { around, at, command, fixed, put, read, write } from '../src/lib/draft';

describe('a draft', () => {
  it('is read from YAML and says where it is wrong', () => {
    expect(read('resources: {slots: 2}\n').draft).toEqual({ resources: { slots: 2 } });
    expect(read('').draft).toEqual({});
    expect(read('# only a note').draft).toEqual({});
    expect(read('a: 1\nb: [2').problem).toMatch(/^Line 2:/);
    expect(read('a: 1\na: 2').problem).toMatch(/^Line 2:/);
    expect(read('- a list').problem).toContain('not a map');
    expect(read('just text').problem).toContain('not a map');
  });

  it('does not grow without end from aliases', () => {
    const lines = ['a: &a [x, x, x, x, x, x, x, x, x]'];
    for (let i = 0; i < 8; i++) lines.push(`${'bcdefghi'[i]}: &${'bcdefghi'[i]} [${Array(9).fill(`*${'abcdefgh'[i]}`).join(', ')}]`);
    expect(read(lines.join('\n')).problem).toBeTruthy();
  });

  it('changes field by field, and leaves no empty map behind', () => {
    const d = put(put({ description: 'x' }, 'resources.slots', 2), 'resources.resource_pool', 'gpu');
    expect(d).toEqual({ description: 'x', resources: { slots: 2, resource_pool: 'gpu' } });
    expect(at(d, 'resources.slots')).toBe(2);
    expect(at(d, 'resources.none.at.all')).toBeUndefined();
    const without = put(put(d, 'resources.slots', undefined), 'resources.resource_pool', undefined);
    expect(without).toEqual({ description: 'x' });
    expect(write(put(without, 'description', undefined))).toBe('');
    expect(d.resources).toEqual({ slots: 2, resource_pool: 'gpu' });
  });

  it('comes back from its text as it was', () => {
    const d = { description: 'yes: no', entrypoint: ['/bin/sh', '-c', 'echo "a b" | wc\n# b'], resources: { slots: 0 }, environment: { environment_variables: ['A=1', 'B=true'] } };
    expect(read(write(d)).draft).toEqual(d);
  });
});

it('a trial is trained again with its hyperparameters, or searched around', () => {
  const config = { name: 'x', hyperparameters: { lr: { type: 'log', minval: -3, maxval: -1 } }, searcher: { name: 'adaptive_asha', metric: 'loss', max_trials: 100, max_length: { batches: 5 } } };
  const hparams = { lr: 0.02, layers: 4, net: { width: -8, act: 'relu' }, none: 0 };
  expect(fixed(config, hparams)).toEqual({ name: 'x', hyperparameters: hparams, searcher: { name: 'single', metric: 'loss', max_length: { batches: 5 } } });
  const near = around(config, hparams);
  expect(near.searcher).toEqual({ name: 'random', metric: 'loss', max_length: { batches: 5 }, max_trials: 10 });
  expect(near.hyperparameters).toEqual({
    lr: { type: 'double', minval: 0.01, maxval: 0.04 }, layers: { type: 'int', minval: 2, maxval: 8 },
    net: { width: { type: 'int', minval: -16, maxval: -4 }, act: 'relu' }, none: 0,
  });
});

it('one line is a shell\'s, and a list of words is left alone', () => {
  expect(command(undefined)).toEqual({ line: '', own: true });
  expect(command(['/bin/sh', '-c', 'ls | wc'])).toEqual({ line: 'ls | wc', own: true });
  expect(command(['python3', 'a b.py'])).toEqual({ line: 'python3 a b.py', own: false });
});
