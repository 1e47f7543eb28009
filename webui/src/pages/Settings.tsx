// The user's own account, access tokens, and the settings that pages store.
import { useState } from 'preact/hooks';
import { call } from '../lib/api';
import { clock } from '../lib/format';
import { attempt, manage } from '../lib/manage';
import { settings } from '../lib/settings';
import { choice } from '../lib/theme';
import { say, words } from '../lib/toast';
import { resetUserSettings } from '../lib/types';
import { Confirm, Fact, type Question } from '../parts/bits';
import { text } from '../parts/Dialog';
import { me, signOut } from '../lib/session';
import { ThemeSwitch, useTitle } from '../parts/Shell';
import { Sessions } from './manage/Sessions';
import { Tokens } from './manage/Tokens';
import { PasswordDialog } from './manage/Users';

export function Settings() {
  useTitle('My settings');
  const [secret, setSecret] = useState(false);
  const [failed, setFailed] = useState('');
  const [question, setQuestion] = useState<Question | null>(null);
  const u = me.value;
  if (!u) return null;
  const rename = async (e: Event) => {
    e.preventDefault();
    setFailed('');
    const displayName = text(new FormData(e.currentTarget as HTMLFormElement), 'display');
    try {
      me.value = { ...(await manage.changeUser(u.id, { displayName })).user, admin: u.admin };
      say('Your name is changed');
    } catch (error) {
      setFailed(words(error));
    }
  };
  const kept = Object.keys(settings.value ?? {}).filter((k) => k !== 'theme');
  const views = kept.filter((k) => k.startsWith('view.')).length;
  const reset = () => setQuestion({
    title: 'Forget all choices?', text: 'The master deletes your saved views, chosen columns and theme, for every browser, and the settings that other clients store here.', yes: 'Forget', danger: true,
    act: async () => {
      if (!await attempt('Forget the choices', () => call(resetUserSettings), 'All choices are forgotten')) return;
      settings.value = {};
      choice.value = 'system';
      for (const key of Object.keys(localStorage)) if (key.startsWith('detent.')) localStorage.removeItem(key);
    },
  });
  return (
    <div class="page">
      <div class="head"><h1>My settings</h1></div>
      <div class="cards">
        <section class="card" aria-label="account">
          <h2>Account</h2>
          <dl>
            <Fact name="Username">{u.username}</Fact>
            <Fact name="Administrator">{u.admin ? 'yes' : 'no'}</Fact>
            <Fact name="Last sign-in"><span class="num">{clock(u.lastAuthAt)}</span></Fact>
          </dl>
          <form class="row wrap gap-above" onSubmit={rename}>
            <input class="grow" name="display" aria-label="name to show" autocomplete="name" defaultValue={u.displayName} placeholder="name to show" />
            <button type="submit">Save the name</button>
          </form>
          {failed && <p class="said bad" role="alert">{failed}</p>}
          {!u.remote && <div class="row gap-above"><button type="button" onClick={() => setSecret(true)}>Change the password</button></div>}
          <div class="row gap-above only-narrow"><button type="button" onClick={() => void signOut()}>Sign out</button></div>
        </section>
        <section class="card" aria-label="pages">
          <h2>Pages</h2>
          <dl>
            <Fact name="Theme"><ThemeSwitch /></Fact>
            <Fact name="Saved views"><span class="num">{views}</span></Fact>
            <Fact name="Tables with chosen columns"><span class="num">{kept.length - views}</span></Fact>
          </dl>
          <p class="faint small gap-above">The server keeps them, so they are the same in every browser.</p>
          <div class="row gap-above"><button type="button" class="danger" onClick={reset}>Forget all choices</button></div>
        </section>
      </div>
      <section class="gap-above" aria-label="sign-ins">
        <h2>Where I am signed in</h2>
        <p class="lead gap-above">Browsers and programs with a session of yours. End those that you do not know, and change your password then.</p>
        <Sessions />
      </section>
      <section class="gap-above" aria-label="access tokens">
        <h2>My access tokens</h2>
        <p class="lead gap-above">Programs sign in with a token in place of your password.</p>
        <Tokens mine />
      </section>
      {secret && <PasswordDialog of={u} close={() => setSecret(false)} />}
      <Confirm question={question} close={() => setQuestion(null)} />
    </div>
  );
}
