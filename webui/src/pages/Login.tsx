import { useEffect, useRef, useState } from 'preact/hooks';
import { readSettings } from '../lib/settings';
import { api, ApiError } from '../lib/api';
import { askFirst, ownPath } from '../lib/opening';
import { providerLink, straightTo } from '../lib/signin';
import { go, outside, params } from '../lib/router';
import { words } from '../lib/toast';
import { master, signedIn } from '../lib/session';
import { ThemeSwitch, useTitle } from '../parts/Shell';

export function Login() {
  useTitle('Sign in');
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const name = useRef<HTMLInputElement>(null);
  const password = useRef<HTMLInputElement>(null);

  useEffect(() => {
    name.current?.focus();
    api.info().then((i) => {
      master.value = i;
      const to = straightTo(i, params.value);
      if (to) location.replace(to);
    }, () => {});
  }, []);
  const wanted = params.value.get('next') ?? '';
  const providers = master.value?.sso_providers ?? [];

  const submit = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setProblem('');
    try {
      await signedIn((await api.login(name.current?.value ?? '', password.current?.value ?? '')).user);
      void readSettings();
      const to = ownPath(params.value.get('next') ?? '') ?? '/experiments'; // a link must not lead a signed-in person elsewhere
      if (outside(new URL(to, location.href).pathname)) location.assign(askFirst(to)); // not in this router
      else go(to, true);
    } catch (error) {
      setProblem(error instanceof ApiError && error.message === 'invalid credentials' ? 'Wrong username or password. Both are case-sensitive; an admin can set a new password with det user change-password.' : words(error));
      password.current?.select();
    } finally {
      setBusy(false);
    }
  };

  return (
    <main class="login">
      <form onSubmit={submit} aria-labelledby="sign-in">
        <img src="/favicon.svg" alt="" width={44} height={44} />
        <h1 id="sign-in">Sign in to Detent</h1>
        {master.value && <p class="faint">cluster {master.value.cluster_name}</p>}
        <label>Username
          <input ref={name} name="username" autocomplete="username" autocapitalize="off" spellcheck={false} required />
        </label>
        <label>Password
          <input ref={password} name="password" type="password" autocomplete="current-password" />
        </label>
        {problem && <p class="problem" role="alert">{problem}</p>}
        <button type="submit" class="main" disabled={busy}>{busy ? 'Signing in…' : 'Sign in'}</button>
        {providers.map((p) => <a key={p.name} class="button" href={providerLink(p.sso_url, wanted)}>Sign in with {p.name}</a>)}
      </form>
      <ThemeSwitch />
    </main>
  );
}
