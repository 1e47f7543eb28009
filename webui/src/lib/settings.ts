// The settings of a user, which the master stores, so they are the same in every browser.
import { signal } from '@preact/signals';
import { call } from './api';
import { choice, type Choice } from './theme';
import { complain } from './toast';
import { getUserSettings, setUserSettings } from './types';

const path = 'detent'; // among the settings of other pages
const soon = 600;

// settings is undefined until they are loaded.
export const settings = signal<Record<string, string> | undefined>(undefined);

let waiting: Record<string, string> = {};
let timer: ReturnType<typeof setTimeout> | undefined;

export async function readSettings(): Promise<void> {
  try {
    const list = (await call(getUserSettings)).settings ?? [];
    settings.value = Object.fromEntries(list.filter((s) => s.storagePath === path).map((s) => [s.key, s.value]));
  } catch {
    settings.value ??= {}; // use the settings that this browser has stored
    return;
  }
  const theme = settings.value.theme;
  if (theme === 'light' || theme === 'dark' || theme === 'system') choice.value = theme;
}

// keep stores a setting in this browser at once, and on the master a moment later. An empty value removes it.
export function keep(key: string, value: string): void {
  const next = { ...settings.value };
  if (value) next[key] = value;
  else delete next[key];
  settings.value = next;
  waiting[key] = value;
  clearTimeout(timer);
  timer = setTimeout(() => void send(), soon);
}

async function send(): Promise<void> {
  const list = Object.entries(waiting).map(([key, value]) => ({ key, value, storagePath: path }));
  waiting = {};
  try {
    await call(setUserSettings, { body: { settings: list } });
  } catch (error) {
    complain('Your choice could not be kept on the server', error);
  }
}

// forget is called at a sign-out, because the next user has other settings.
export function forget(): void {
  clearTimeout(timer);
  if (Object.keys(waiting).length) void send();
  settings.value = undefined;
}

export function chooseTheme(to: Choice): void {
  choice.value = to;
  if (settings.value) keep('theme', to); // nobody is signed in before
}
