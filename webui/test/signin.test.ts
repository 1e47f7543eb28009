import { expect, it } from 'vitest';
import { straightTo } from '../src/lib/signin';

it('the sign-in page leads straight to the provider with always_redirect, except after a sign-out', () => {
  const provider = (name: string, always_redirect: boolean) => ({ name, sso_url: `https://m.example/oidc/sso/${name}`, type: 'OIDC', always_redirect });
  const both = { sso_providers: [provider('a', false), provider('b', true)] };
  expect(straightTo(both, new URLSearchParams('next=/tasks'))).toBe('/oidc/sso/b?relayState=%2Ftasks');
  expect(straightTo(both, new URLSearchParams(''))).toBe('/oidc/sso/b');
  expect(straightTo(both, new URLSearchParams('out'))).toBeUndefined();
  expect(straightTo({ sso_providers: [provider('a', false)] }, new URLSearchParams(''))).toBeUndefined();
});
