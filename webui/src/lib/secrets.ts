// The section of a configuration that mounts a secret.
import { write } from './draft';
import type { UserSecret } from './types';

// sectionOf mounts each key of a secret as an environment variable.
export function sectionOf(s: UserSecret): string {
  const keys = s.keys.length ? s.keys : ['KEY'];
  return write({ environment: { secrets: keys.map((key) => ({ name: s.name, key, env: variable(`${s.name}_${key}`) })) } });
}

// variable is a text as the name of an environment variable. Those that begin with DET_ are the platform's.
const variable = (text: string) => text.toUpperCase().replace(/[^A-Z0-9]+/g, '_').replace(/^(?=\d|DET_)/, 'MY_');
