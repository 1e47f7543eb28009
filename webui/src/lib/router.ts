// The address contains the state of a page: filter, order, columns, zoom and
// tab, so users can send it as a link.
import { computed, signal } from '@preact/signals';
import { search, type Query } from './api';

export interface Route<P = unknown> {
  pattern: string; // /experiments/:id/:tab?
  page: P;
}

export interface Match<P> {
  page: P;
  params: Record<string, string>;
}

// match finds the first route that fits. A parameter with ? may be missing; a last
// segment * takes the rest.
export function match<P>(routes: readonly Route<P>[], path: string): Match<P> | null {
  const have = segments(path);
  for (const route of routes) {
    const params = fit(segments(route.pattern), have);
    if (params) return { page: route.page, params };
  }
  return null;
}

function segments(path: string): string[] {
  return path.split('/').filter(Boolean);
}

function fit(want: string[], have: string[]): Record<string, string> | null {
  const params: Record<string, string> = {};
  for (const [i, segment] of want.entries()) {
    if (segment === '*') return params;
    const value = have[i];
    if (segment.startsWith(':')) {
      const optional = segment.endsWith('?');
      if (value === undefined) {
        if (!optional) return null;
        continue;
      }
      params[segment.slice(1, optional ? -1 : undefined)] = decode(value);
    } else if (value !== segment) return null;
  }
  return have.length <= want.length ? params : null;
}

function decode(s: string): string {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
}

const here = () => (typeof location === 'undefined' ? '/' : location.pathname + location.search);
const address = signal(here());

// path is without the prefix that links of Determined's own clients have.
export const path = computed(() => (address.value.split('?')[0] ?? '/').replace(/^\/det(?=\/|$)/, '') || '/');
export const params = computed(() => new URLSearchParams(address.value.split('?')[1] ?? ''));

export function go(to: string, replace = false): void {
  if (to === here()) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', to);
  address.value = here();
  if (!replace) window.scrollTo(0, 0);
}

// setParams changes parameters of the address; undefined removes one.
export function setParams(change: Query): void {
  const next = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(change)) {
    next.delete(name);
    if (Array.isArray(value)) value.forEach((v) => next.append(name, String(v)));
    else if (value !== undefined && value !== null && value !== '') next.set(name, String(value));
  }
  const query = next.toString();
  go(location.pathname + (query ? `?${query}` : ''), true);
}

export function link(to: string, query: Query = {}): string {
  return to + search(query);
}

// start follows the browser's buttons and plain clicks on links within the pages.
export function start(): void {
  addEventListener('popstate', () => (address.value = here()));
  document.addEventListener('click', (e) => {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    const a = (e.target as Element | null)?.closest?.('a');
    if (!a || a.target || a.hasAttribute('download') || a.origin !== location.origin || outside(a.pathname)) return;
    if (a.pathname === location.pathname && a.search === location.search && a.hash) return;
    e.preventDefault();
    go(a.pathname + a.search);
  });
}

// outside are paths that the master serves and these pages do not.
export function outside(pathname: string): boolean {
  return /^\/(api|oidc|proxy|docs|checkpoints|runner|harness|metrics|health|info)(\/|$)/.test(pathname);
}
