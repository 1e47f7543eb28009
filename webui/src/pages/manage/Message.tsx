// What administrators tell everybody, on every page.
import { useState } from 'preact/hooks';
import { clock } from '../../lib/format';
import { useLoad } from '../../lib/load';
import { attempt, manage } from '../../lib/manage';
import { say, words } from '../../lib/toast';
import { Loading, Problem } from '../../parts/bits';
import { text } from '../../parts/Dialog';

const utc = (local: string) => (local ? new Date(local).toISOString() : null);

export function Message() {
  const now = useLoad((signal) => manage.message(signal), []);
  const [failed, setFailed] = useState('');
  const [busy, setBusy] = useState(false);
  if (now.error) return <Problem what="Could not load the message." error={now.error} retry={now.reload} />;
  if (now.data === undefined) return <Loading />;
  const m = now.data;
  const save = async (e: Event) => {
    e.preventDefault();
    const form = new FormData(e.currentTarget as HTMLFormElement);
    setBusy(true);
    setFailed('');
    try {
      await manage.setMessage({ message: text(form, 'message'), startTime: utc(text(form, 'start')), endTime: utc(text(form, 'end')), duration: null });
      say('The message is set; pages show it within a minute');
      now.reload();
    } catch (error) {
      setFailed(words(error));
    } finally {
      setBusy(false);
    }
  };
  const remove = async () => {
    await attempt('Remove the message', manage.removeMessage, 'The message is removed');
    now.reload();
  };
  return (
    <form class="stack narrow-form" onSubmit={save}>
      {m ? <p class="said wait">{clock(m.startTime)} {m.endTime ? `until ${clock(m.endTime)}` : 'until it is removed'}: {m.message}</p> : <p class="faint">There is no message. It would be over every page, and in det.</p>}
      <div class="fields">
        <label class="wide">Message<textarea name="message" rows={3} required key={m?.message ?? ''} defaultValue={m?.message ?? ''} placeholder="Maintenance on Friday from 18:00" /></label>
        <label>From<input name="start" type="datetime-local" /><span class="hint">empty: from now on</span></label>
        <label>Until<input name="end" type="datetime-local" /><span class="hint">empty: until it is removed</span></label>
      </div>
      {failed && <p class="problem" role="alert">{failed}</p>}
      <div class="row">
        <button type="submit" class="main" disabled={busy}>{m ? 'Replace' : 'Show to everybody'}</button>
        {m && <button type="button" class="danger" onClick={() => void remove()}>Remove</button>}
      </div>
    </form>
  );
}
