// The theme: light, dark, or the system's. A canvas cannot use the style sheet's
// variables, so code that draws on a canvas listens to `theme` and reads them with `token`.
import { computed, effect, signal } from '@preact/signals';

export type Choice = 'system' | 'light' | 'dark';

const key = 'detent.theme';
const dark = matchMedia('(prefers-color-scheme: dark)');
const system = signal(dark.matches);
dark.addEventListener('change', (e) => (system.value = e.matches));

function stored(): Choice {
  try {
    const v = localStorage.getItem(key);
    if (v === 'light' || v === 'dark') return v;
  } catch {
    // no storage
  }
  return 'system';
}

export const choice = signal<Choice>(stored());
export const theme = computed<'light' | 'dark'>(() =>
  choice.value === 'system' ? (system.value ? 'dark' : 'light') : choice.value,
);

effect(() => {
  const root = document.documentElement;
  if (choice.value === 'system') delete root.dataset.theme;
  else root.dataset.theme = choice.value;
  try {
    if (choice.value === 'system') localStorage.removeItem(key);
    else localStorage.setItem(key, choice.value);
  } catch {
    // the choice lasts as long as the page
  }
});

// token reads a variable of the style sheet as it is now.
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
