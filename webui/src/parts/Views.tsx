// Saved views of a list: kept on the server for one person, sent to others as a link.
import { useState } from 'preact/hooks';
import { params, path } from '../lib/router';
import { keep, settings } from '../lib/settings';
import { say } from '../lib/toast';
import { isAt, keyOf, maxName, viewsOf } from '../lib/views';
import { Dialog, text } from './Dialog';
import { Menu } from './bits';

export function Views() {
  const [saving, setSaving] = useState(false);
  const views = viewsOf(settings.value);
  const query = params.value.toString();
  const here = path.value + (query ? `?${query}` : '');
  const at = views.find((v) => isAt(v, here));
  const save = async (form: FormData) => {
    const name = text(form, 'name');
    if (!name || name.length > maxName) throw new Error(`A view needs a name with at most ${maxName} characters.`);
    keep(keyOf(name), here);
    say(`View ${name} saved`);
  };
  const share = async () => {
    try {
      await navigator.clipboard.writeText(location.origin + here);
      say('The link to this view is copied');
    } catch {
      say(`This browser does not allow copying from this page. The address of the page is the link.`);
    }
  };
  return (
    <>
      <Menu label={at ? `View: ${at.name}` : 'Views'} title="saved views">
        {(close) => (
          <>
            {views.map((v) => (
              <div key={v.name} class="row pick">
                <a class="item grow cut" href={v.to} aria-current={v === at ? 'true' : undefined} title={v.name} onClick={close}>{v.name}</a>
                <button type="button" class="quiet" aria-label={`delete view ${v.name}`} onClick={() => keep(keyOf(v.name), '')}>✕</button>
              </div>
            ))}
            {views.length === 0 && <p class="faint small pad">A view keeps filters, order and columns under a name.</p>}
            <button type="button" class="item" onClick={() => { close(); setSaving(true); }}>Save this view…</button>
            <button type="button" class="item" onClick={() => { close(); void share(); }}>Copy the link to it</button>
            <a class="item" href={path.value} onClick={close}>Show all</a>
          </>
        )}
      </Menu>
      {saving && (
        <Dialog title="Save this view" open yes="Save" close={() => setSaving(false)} act={save}>
          <label>Name<input name="name" required maxLength={maxName} autocomplete="off" defaultValue={at?.name ?? ''} /></label>
          <p class="faint small">Filters, order and columns as they are now. A view of the same name is replaced.</p>
        </Dialog>
      )}
    </>
  );
}
