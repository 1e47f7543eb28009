// Who is signed in, and where.
import { signal } from '@preact/signals';
import { api } from './api';
import { go } from './router';
import { forget } from './settings';
import { complain } from './toast';
import type { Info, User } from './types';

export const me = signal<User | null | undefined>(undefined); // undefined: not asked yet
export const master = signal<Info | undefined>(undefined);

export async function signOut(): Promise<void> {
  try {
    await api.logout();
  } catch (error) {
    complain('Signing out', error);
    return;
  }
  forget();
  me.value = null;
  go('/login?out'); // else a provider with always_redirect would sign the user in again
}
