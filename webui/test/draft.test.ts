import { describe, expect, it } from 'vitest';
import { around, at, command, fixed, needsCode, onward, put, read, varies, write } from '../src/lib/draft';

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

describe('a trial', () => {
  const searcher = { name: 'adaptive_asha', metric: 'loss', max_trials: 100, max_length: { batches: 5 } };
  const space = {
    lr: { type: 'log', base: 10, minval: -5, maxval: -1 }, width: { type: 'int', minval: 8, maxval: 512 }, dropout: { type: 'double', minval: 0, maxval: 0.8 },
    optimizer: { type: 'categorical', vals: ['adam', 'sgd'] }, epochs: 30, seed: { type: 'const', val: 1 }, net: { depth: { type: 'int', minval: 1, maxval: 3 }, act: 'relu' },
  };
  const config = { name: 'x', hyperparameters: space, searcher };
  const hparams = { lr: 0.001, width: 511, dropout: 0, optimizer: 'sgd', epochs: 30, seed: 1, net: { depth: 2, act: 'relu' } };

  it('is trained again with its hyperparameters', () => {
    expect(fixed(config, hparams)).toEqual({ name: 'x', hyperparameters: hparams, searcher: { name: 'single', metric: 'loss', max_length: { batches: 5 } } });
  });
  it('goes on from its newest checkpoint, or from the one that is named', () => {
    const old = { ...config, searcher: { ...searcher, source_trial_id: 3 } };
    expect(onward(old, hparams, 7)).toEqual({ name: 'x', hyperparameters: hparams, searcher: { name: 'single', metric: 'loss', max_length: { batches: 5 }, source_trial_id: 7 } });
    expect(onward(old, hparams, 7, 'abc').searcher).toEqual({ name: 'single', metric: 'loss', max_length: { batches: 5 }, source_checkpoint_uuid: 'abc' });
  });
  it('is searched around with the types of the search, within its ranges', () => {
    const near = around(config, hparams);
    expect(near.searcher).toEqual({ name: 'random', metric: 'loss', max_length: { batches: 5 }, max_trials: 10 });
    expect(near.hyperparameters).toEqual({
      lr: { type: 'log', base: 10, minval: -4, maxval: -2 }, width: { type: 'int', minval: 385, maxval: 512 }, dropout: { type: 'double', minval: 0, maxval: 0.2 },
      optimizer: space.optimizer, epochs: 30, seed: space.seed, net: { depth: { type: 'int', minval: 1, maxval: 3 }, act: 'relu' },
    });
  });
  it('is searched outside of the old ranges if somebody asks, and sizes stay above 0', () => {
    const wide = (values: object) => around(config, { ...hparams, ...values }, true).hyperparameters as typeof space;
    expect(wide({}).width).toEqual({ type: 'int', minval: 385, maxval: 637 });
    expect(wide({ width: 10 }).width).toEqual({ type: 'int', minval: 4, maxval: 136 });
    expect(wide({ lr: 0.1 }).lr).toEqual({ type: 'log', base: 10, minval: -2, maxval: 0 });
    expect(wide({}).dropout).toEqual({ type: 'double', minval: 0, maxval: 0.2 });
  });
  it('with constants only has nothing to search', () => {
    expect(around({ hyperparameters: { lr: 0.1 } }, { lr: 0.1 }).hyperparameters).toEqual({ lr: 0.1 });
    expect([varies(space), varies({ a: 1, b: { type: 'const', val: 2 }, c: { d: 'x' } }), varies({ c: { d: { type: 'int', minval: 1, maxval: 2 } } })]).toEqual([true, false, true]);
  });
});

it('an entrypoint says which file of the code it runs', () => {
  expect(['python3 train.py --lr 1', ['python3', 'a/b.py'], ['/bin/sh', '-c', 'pip list && ./run'], 'model_def:MyTrial', 'python3 -m determined.launch.torch_distributed python3 t.py'].map(needsCode))
    .toEqual(['train.py', 'a/b.py', './run', 'model_def:MyTrial', 't.py']);
  expect(['python3 /opt/train.py', ['python3', '-c', 'import time; time.sleep(1)'], 'sleep 5', 'curl http://host:8080/a.sh', undefined].map(needsCode)).toEqual(['', '', '', '', '']);
});

it('one line is a shell\'s, and a list of words is left alone', () => {
  expect(command(undefined)).toEqual({ line: '', own: true });
  expect(command(['/bin/sh', '-c', 'ls | wc'])).toEqual({ line: 'ls | wc', own: true });
  expect(command(['python3', 'a b.py'])).toEqual({ line: 'python3 a b.py', own: false });
});

it('a search around a trial keeps steps, conditions and constraints', () => {
  const space = {
    batch: { type: 'int', minval: 16, maxval: 512, step: 16 }, lr: { type: 'double', minval: 0.0001, maxval: 1, log: true, prior: 0.5 },
    momentum: { type: 'double', minval: 0, maxval: 0.9, when: { optimizer: 'sgd' } }, n: { type: 'int', minval: 1, maxval: 16, log: true },
  };
  const made = around({ hyperparameters: space, searcher: { name: 'adaptive_asha', metric: 'm', constraints: ['lr < 1'] } }, { batch: 128, lr: 0.01, n: 16 });
  expect(made.hyperparameters).toEqual({
    batch: { type: 'int', minval: 0 + 16, maxval: 256, step: 16 }, lr: { type: 'double', minval: 0.001, maxval: 0.1, log: true },
    momentum: space.momentum, n: { type: 'int', minval: 8, maxval: 16, log: true },
  });
  expect(made.searcher).toEqual({ name: 'random', metric: 'm', max_trials: 10, constraints: ['lr < 1'] });
});
