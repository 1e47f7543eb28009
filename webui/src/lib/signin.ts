// Where a sign-in with an identity provider begins.
import type { Info } from './types';

/** providerLink is the address that begins a sign-in with an identity provider, and ends at a page. */
export const providerLink = (at: string, next: string) => new URL(at).pathname + (next ? '?relayState=' + encodeURIComponent(next) : '');

/** straightTo is where the sign-in page leads at once: to the provider with always_redirect. After a sign-out the page stays,
 *  or it would sign the user in again. */
export function straightTo(info: Pick<Info, 'sso_providers'>, asked: URLSearchParams): string | undefined {
  const redirect = info.sso_providers.find((p) => p.always_redirect);
  if (!redirect || asked.get('out') !== null) return undefined;
  return providerLink(redirect.sso_url, asked.get('next') ?? '');
}
