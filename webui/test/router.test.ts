import { describe, expect, it } from 'vitest';
import { search } from '../src/lib/api';
import { match, outside } from '../src/lib/router';

const routes = [
  { pattern: '/', page: 'home' },
  { pattern: '/experiments/:id/:tab?', page: 'experiment' },
  { pattern: '/experiments/:experiment/trials/:id/:tab?', page: 'trial' },
  { pattern: '/interactive/:id/*', page: 'wait' },
];

describe('addresses', () => {
  it.each([
    ['/', 'home', {}],
    ['/experiments/7', 'experiment', { id: '7' }],
    ['/experiments/7/logs/', 'experiment', { id: '7', tab: 'logs' }],
    ['/experiments/7/trials/9/logs', 'trial', { experiment: '7', id: '9', tab: 'logs' }],
    ['/interactive/a%20b/jupyter-lab/My%20Notebook/default', 'wait', { id: 'a b' }],
    ['/experiments/100%', 'experiment', { id: '100%' }],
  ])('%s', (path, page, params) => {
    expect(match(routes, path)).toEqual({ page, params });
  });
  it.each(['/nothing', '/experiments', '/experiments/7/trials/9/logs/more'])('%s fits nothing', (path) => {
    expect(match(routes, path)).toBeNull();
  });
  it('leave to the master what is the master\'s', () => {
    expect(['/api/v1/x', '/proxy/1/lab', '/docs/rest-api', '/checkpoints/1', '/oidc/sso'].map(outside)).toEqual([true, true, true, true, true]);
    expect(['/', '/experiments', '/apiary'].map(outside)).toEqual([false, false, false]);
  });
});

describe('parameters', () => {
  it('repeat lists and leave out what is empty', () => {
    expect(search({ a: 1, b: '', c: undefined, d: null, e: ['x', 'y&z'], f: false, g: [] })).toBe('?a=1&e=x&e=y%26z&f=false');
    expect(search({})).toBe('');
  });
});
