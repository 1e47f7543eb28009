// Registers a checkpoint as the next version of a model, an old one or a new one.
import { useState } from 'preact/hooks';
import { api } from '../lib/api';
import { useLoad } from '../lib/load';
import { say } from '../lib/toast';
import type { Checkpoint } from '../lib/types';
import { Dialog, text } from './Dialog';

const most = 1000;

export function Register({ checkpoint, close }: { checkpoint: Checkpoint | null; close: () => void }) {
  if (!checkpoint) return null;
  return <Form checkpoint={checkpoint} close={close} />;
}

function Form({ checkpoint, close }: { checkpoint: Checkpoint; close: () => void }) {
  const models = useLoad(async (signal) => (await api.models({ archived: false, limit: most, sortBy: 'SORT_BY_LAST_UPDATED_TIME', orderBy: 'ORDER_BY_DESC' }, signal)).models, []);
  const [model, setModel] = useState<string>();
  const list = models.data ?? [];
  const chosen = model ?? String(list[0]?.id ?? '');
  const register = async (form: FormData) => {
    const of = list.find((m) => String(m.id) === chosen) ?? (await api.createModel({ name: text(form, 'new') }));
    const v = await api.register(of.id, { checkpointUuid: checkpoint.uuid, name: text(form, 'name'), comment: text(form, 'comment') });
    say(`Registered as version ${v.version} of ${of.name}`);
  };
  return (
    <Dialog title="Register a checkpoint" open={!!models.data || !!models.error} yes="Register" close={close} act={register}>
      <p class="faint">Checkpoint <code>{checkpoint.uuid}</code>. A registered checkpoint keeps its files until the version is deleted.</p>
      <label>Model
        <select name="model" value={chosen} onChange={(e) => setModel(e.currentTarget.value)}>
          {list.map((m) => <option key={m.id} value={m.id}>{m.name}</option>)}
          <option value="">a new model…</option>
        </select>
      </label>
      {!chosen && <label>Name of the new model<input name="new" required autocomplete="off" spellcheck={false} /></label>}
      <label>Name of the version<input name="name" autocomplete="off" placeholder="optional" /></label>
      <label>Comment<input name="comment" autocomplete="off" placeholder="optional" /></label>
    </Dialog>
  );
}
