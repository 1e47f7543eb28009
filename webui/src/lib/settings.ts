// What a person has chosen, kept on the server: the same in every browser.
import { signal } from '@preact/signals';
import { call } from './api';
import { choice, type Choice } from './theme';
import { complain } from './toast';
import { getUserSettings, setUserSettings } from './types';

const path = 'detent'; // among the settings of other pages
const soon = 600;

// settings is undefined until they are read.
export const settings = signal<Record<string, string> | undefined>(undefined);

let waiting: Record<string, string> = {};
let timer: ReturnType<typeof setTimeout> | undefined;

export async function readSettings(): Promise<void> {
  try {
    const list = (await call(getUserSettings)).settings ?? [];
    settings.value = Object.fromEntries(list.filter((s) => s.storagePath === path).map((s) => [s.key, s.value]));
  } catch {
    settings.value ??= {}; // what this browser remembers holds
    return;
  }
  const theme = settings.value.theme;
  if (theme === 'light' || theme === 'dark' || theme === 'system') choice.value = theme;
}

// keep remembers a choice here at once, and on the server a moment later. An empty one is forgotten.
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

// forget is called when somebody signs out: the next person has other settings.
export function forget(): void {
  clearTimeout(timer);
  if (Object.keys(waiting).length) void send();
  settings.value = undefined;
}

export function chooseTheme(to: Choice): void {
  choice.value = to;
  if (settings.value) keep('theme', to); // nobody is signed in before
}
