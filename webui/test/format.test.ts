import { describe, expect, it } from 'vitest';
import { ago, ahead, bytes, compact, duration, flat, metric, percent, plural, space, stateWord } from '../src/lib/format';

describe('words for people', () => {
  it.each([[0, '0s'], [8.4, '8s'], [60, '1m'], [725, '12m 5s'], [3600, '1h'], [277_200, '3d 5h'], [86_400, '1d'], [undefined, '–'], [null, '–'], [NaN, '–']])('%s seconds are %s', (n, words) => {
    expect(duration(n)).toBe(words);
  });
  it.each([[0, '0'], [1, '1'], [0.97312345, '0.97312'], [1.5e-7, '1.5e-7'], [12345, '12,345'], [1234.56, '1,234.6'], [2e12, '2e12'], ['NaN', 'NaN'], ['-Infinity', '-∞'], [undefined, '–'], [-0.25, '-0.25']])('%s is shown as %s', (v, words) => {
    expect(metric(v)).toBe(words);
  });
  it.each([[0, '0 B'], ['999', '999 B'], [1500, '1.5 KB'], ['123456789', '123 MB'], [2.5e12, '2.5 TB']])('%s bytes are %s', (n, words) => {
    expect(bytes(n)).toBe(words);
  });
  it('say how long ago', () => {
    const now = Date.parse('2026-01-01T12:00:00Z');
    expect(ago('2026-01-01T11:59:58Z', now)).toBe('now');
    expect(ago('2026-01-01T11:55:00Z', now)).toBe('5m ago');
    expect(ago('2025-12-30T11:00:00Z', now)).toBe('2d ago');
    expect(ago('nonsense', now)).toBe('–');
    expect(ahead('2026-01-01T12:12:30Z', now)).toBe('in 12m');
    expect(ahead('2026-01-01T12:00:59Z', now)).toBe('soon');
    expect(ahead('nonsense', now)).toBe('–');
  });
  it('count and name', () => {
    expect([plural(1, 'trial'), plural(1200, 'trial'), plural(2, 'match', 'matches')]).toEqual(['1 trial', '1,200 trials', '2 matches']);
    expect([percent(0.005), percent(0.999), percent(1), percent(undefined)]).toEqual(['0.5%', '99%', '100%', '–']);
    expect([stateWord('STATE_RUNNING'), stateWord('STATE_STOPPING_CANCELED'), stateWord('STATE_DELETE_FAILED')]).toEqual(['running', 'stopping (canceled)', 'delete failed']);
  });
  it('show what a search may choose from', () => {
    expect(space({ m: { type: 'double', minval: 0, maxval: 0.9, step: 0.1, when: { opt: ['sgd', 'adam'] } }, n: { type: 'int', minval: 1, maxval: 64, log: true }, size: { type: 'categorical', vals: ['s', 'l'], ordered: true } }))
      .toEqual([['m', '0 … 0.9 by 0.1, when opt is sgd or adam'], ['n', '1 … 64, log'], ['size', 's < l']]);
    expect(space({ lr: { type: 'log', base: 10, minval: -4, maxval: -1 }, n: { type: 'int', minval: 1, maxval: 8 }, opt: { name: { type: 'categorical', vals: ['sgd', 'adam'] }, decay: { type: 'const', val: 0.1 } }, plain: 3 }))
      .toEqual([['lr', '10^-4 … 10^-1'], ['n', '1 … 8'], ['opt.name', 'sgd | adam'], ['opt.decay', '0.1'], ['plain', '3']]);
  });
  it('name nested hyperparameters', () => {
    expect(flat({ lr: 0.1, net: { layers: [1, 2], opt: { name: 'sgd' } }, none: {} })).toEqual([['lr', 0.1], ['net.layers', [1, 2]], ['net.opt.name', 'sgd'], ['none', {}]]);
  });
});

describe('a number at the edge of a chart', () => {
  it.each([[0, '0'], [0.25, '0.25'], [9999, '9,999'], [12_500, '12.5k'], [345_420_845, '345.4M'], [-2e9, '-2G'], [1e16, '1e16'], [3e-7, '3e-7']])('%d is %s', (v, s) => expect(compact(v)).toBe(s));
});
