// Who is signed in, and where.
import { signal } from '@preact/signals';
import { api } from './api';
import { go } from './router';
import { rights, type Rights } from './rights';
import { forget } from './settings';
import { complain } from './toast';
import type { Info, User } from './types';

export const me = signal<User | null | undefined>(undefined); // undefined: not asked yet
export const master = signal<Info | undefined>(undefined);
const own = signal<Rights | undefined>(undefined);

// signedIn stores who is signed in. Where roles are in use, a user is an administrator by a role.
export async function signedIn(user: User): Promise<void> {
  const r = await rights(user.admin);
  own.value = r;
  me.value = { ...user, admin: r.admin };
}

// may reports whether the user may do something in a workspace: where roles are in use, by a permission; else as an
// administrator or as the owner. The master decides; the pages only omit what it would reject.
export const may = (permission: string, workspace: number, owner: number): boolean =>
  own.value?.inUse ? own.value.holds(permission, workspace) : me.value?.admin === true || me.value?.id === owner;

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
