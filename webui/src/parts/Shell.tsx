// What is around every page: where to go, who is signed in, whether what is shown is live.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { signal } from '@preact/signals';
import { connection } from '../lib/live';
import { lazy } from '../lib/lazy';
import { path } from '../lib/router';
import { master, me, signOut } from '../lib/session';
import { chooseTheme } from '../lib/settings';
import { choice, type Choice } from '../lib/theme';
import { close, toasts } from '../lib/toast';
import { Banner } from './Banner';
import { useCurrent } from './bits';

const places = [
  { to: '/dashboard', title: 'Dashboard', also: /^\/dashboard/, icon: 'M3 12a8 8 0 0116 0 M11 12l4-4 M3 16h16' },
  { to: '/experiments', title: 'Experiments', also: /^\/($|experiments|trials|compare)/, icon: 'M3 17l5-6 4 3 6-9' },
  { to: '/tasks', title: 'Tasks', also: /^\/(tasks|launch)/, icon: 'M4 5h14v10H4z M8 19h6 M7 9l2 2-2 2' },
  { to: '/models', title: 'Models', also: /^\/models/, icon: 'M11 3l8 4-8 4-8-4z M3 11l8 4 8-4 M3 15l8 4 8-4' },
  { to: '/workspaces', title: 'Workspaces', also: /^\/(workspaces|projects)/, icon: 'M3 6h6l2 2h8v9H3z' },
  { to: '/cluster', title: 'Cluster', also: /^\/(cluster|nodes)/, icon: 'M4 4h6v6H4z M12 4h6v6h-6z M4 12h6v6H4z M12 12h6v6h-6z' },
  { to: '/manage', title: 'Manage', also: /^\/manage/, icon: 'M4 7h8 M16 7h2 M14 5v4 M4 15h2 M10 15h8 M8 13v4' },
];
const Palette = lazy(() => import('./Palette').then((m) => m.Palette), true);

// finding is whether the palette is open.
export const finding = signal(false);
const mac = /Mac|iPhone|iPad/.test(navigator.platform);

const themes: { key: Choice; title: string; icon: string }[] = [
  { key: 'light', title: 'Light', icon: 'M11 7a4 4 0 100 8 4 4 0 000-8z M11 1.5v2 M11 18.500v2 M1.500 11h2 M18.500 11h2 M4.300 4.300l1.400 1.400 M16.300 16.300l1.400 1.400 M17.700 4.300l-1.400 1.400 M5.700 16.300l-1.400 1.400' },
  { key: 'system', title: 'As the system', icon: 'M3 4h16v11H3z M8 19h6 M11 15v4' },
  { key: 'dark', title: 'Dark', icon: 'M18 13.500A8 8 0 118.500 4 6.500 6.500 0 0018 13.500z' },
];

export function Icon({ d }: { d: string }) {
  return <svg class="icon" viewBox="0 0 22 22" aria-hidden="true"><path d={d} /></svg>;
}

export function Shell({ children }: { children: ComponentChildren }) {
  useEffect(() => {
    const keys = (e: KeyboardEvent) => {
      if (!(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey || e.key.toLowerCase() !== 'k') return;
      e.preventDefault();
      finding.value = !finding.value;
    };
    document.addEventListener('keydown', keys);
    return () => document.removeEventListener('keydown', keys);
  }, []);
  const state = connection.value;
  const nav = useRef<HTMLElement>(null);
  useCurrent(nav, path.value);
  return (
    <div class="shell">
      <a class="skip" href="#main">to the page</a>
      <header class="side">
        <a class="brand" href="/experiments">
          <img src="/favicon.svg" alt="" width={24} height={24} />
          <span><b>Detent</b>{master.value?.cluster_name && <small title="cluster">{master.value.cluster_name}</small>}</span>
        </a>
        <button type="button" class="findall" aria-label="search everything" data-keys={mac ? '⌘K' : 'Ctrl K'} aria-keyshortcuts={mac ? 'Meta+K' : 'Control+K'} onClick={() => (finding.value = true)}>
          <Icon d="M9.500 4a5.500 5.500 0 100 11 5.500 5.500 0 000-11z M13.500 13.500L18 18" /><span>Search</span>
        </button>
        <nav ref={nav} aria-label="pages">
          {places.map((p) => <a key={p.to} href={p.to} aria-current={p.also.test(path.value) ? 'page' : undefined}><Icon d={p.icon} /><span>{p.title}</span></a>)}
        </nav>
        <div class="foot">
          {state === 'lost' ? <p class="link lost" role="status">connection lost, retrying</p> : <p class={`link ${state}`}>{state === 'live' ? 'live' : ' '}</p>}
          <ThemeSwitch />
          {me.value && (
            <div class="who">
              <a class="name" href="/settings" title="my settings" data-initial={(me.value.displayName || me.value.username).slice(0, 1).toUpperCase()} aria-current={path.value === '/settings' ? 'page' : undefined}>{me.value.displayName || me.value.username}</a>
              <button type="button" class="quiet" onClick={() => void signOut()}>Sign out</button>
            </div>
          )}
        </div>
      </header>
      <main id="main" tabIndex={-1}><Banner />{children}</main>
      {finding.value && <Palette close={() => (finding.value = false)} />}
    </div>
  );
}

export function ThemeSwitch() {
  return (
    <div class="choices theme" role="group" aria-label="theme">
      {themes.map((t) => (
        <button key={t.key} type="button" title={t.title} aria-label={`${t.title} theme`} aria-pressed={choice.value === t.key}
          class={choice.value === t.key ? 'on' : ''} onClick={() => chooseTheme(t.key)}><Icon d={t.icon} /></button>
      ))}
    </div>
  );
}

export function Toasts() {
  return (
    <div class="toasts" role="region" aria-label="messages" aria-live="polite">
      {toasts.value.map((t) => (
        <div key={t.id} class={`toast ${t.kind}`} role={t.kind === 'error' ? 'alert' : 'status'}>
          <p>{t.text}</p>
          <button type="button" class="quiet" aria-label="close this message" onClick={() => close(t.id)}>✕</button>
        </div>
      ))}
    </div>
  );
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title ? `${title} · Detent` : 'Detent';
  }, [title]);
}
