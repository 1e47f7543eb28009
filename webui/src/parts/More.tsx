// What else can be done with one experiment: make others of it, change what it says of itself.
import { useState } from 'preact/hooks';
import { change, move, projects as listProjects } from '../lib/do';
import { useLoad } from '../lib/load';
import { continuable, ended } from '../lib/states';
import { say } from '../lib/toast';
import type { Experiment, PatchExperiment } from '../lib/types';
import { ProjectSelect } from '../pages/Fork';
import { Dialog, list, text } from './Dialog';
import { Menu } from './bits';

export function More({ e, reload }: { e: Experiment; reload: () => void }) {
  const [open, setOpen] = useState<'edit' | 'move' | ''>('');
  return (
    <>
      <a class="button" href={`/experiments/${e.id}/fork`}>Fork</a>
      {continuable(e) && <a class="button" href={`/experiments/${e.id}/continue`}>Continue</a>}
      <Menu label="More" title="more actions">
        {(close) => (
          <>
            <button type="button" class="item" onClick={() => { close(); setOpen('edit'); }}>Edit…</button>
            <button type="button" class="item" onClick={() => { close(); setOpen('move'); }}>Move…</button>
            <a class="item" href={`/launch/tensorboards?experiments=${e.id}`}>Open in TensorBoard</a>
          </>
        )}
      </Menu>
      {open === 'edit' && <Edit e={e} close={() => setOpen('')} reload={reload} />}
      {open === 'move' && <Move list={[e]} close={() => setOpen('')} done={reload} />}
    </>
  );
}

function Edit({ e, close, reload }: { e: Experiment; close: () => void; reload: () => void }) {
  const over = ended(e.state);
  const resources = e.config.resources ?? {};
  const act = async (form: FormData) => {
    const body: PatchExperiment = { id: e.id, name: text(form, 'name'), description: text(form, 'description'), labels: list(form, 'labels'), notes: String(form.get('notes') ?? '') };
    if (!over) {
      const n = (name: string) => (text(form, name) === '' ? undefined : Number(text(form, name)));
      const [maxSlots, priority, weight] = [n('slots'), n('priority'), n('weight')];
      body.resources = { ...(maxSlots === undefined ? {} : { maxSlots }), ...(priority === undefined ? {} : { priority }), ...(weight === undefined ? {} : { weight }) };
    }
    await change(body);
    say(`Experiment ${e.id} changed`);
    reload();
  };
  return (
    <Dialog title={`Edit experiment ${e.id}`} open yes="Save" close={close} act={act}>
      <label>Name<input name="name" required defaultValue={e.name} autocomplete="off" /></label>
      <label>Description<input name="description" defaultValue={e.description} autocomplete="off" /></label>
      <label>Labels, separated by commas<input name="labels" defaultValue={e.labels.join(', ')} autocomplete="off" /></label>
      <label>Notes<textarea name="notes" rows={6} defaultValue={e.notes} /></label>
      {!over && (
        <div class="fields">
          <label>Priority<input name="priority" type="number" min={1} max={99} defaultValue={resources.priority ?? ''} placeholder="of the pool" /></label>
          <label>Weight<input name="weight" type="number" min={0} step="any" defaultValue={resources.weight ?? ''} /></label>
          <label>At most slots<input name="slots" type="number" min={0} defaultValue={resources.max_slots ?? ''} placeholder="no limit" /></label>
        </div>
      )}
    </Dialog>
  );
}

// Move brings experiments to another project.
export function Move({ list: which, close, done }: { list: readonly Experiment[]; close: () => void; done: () => void }) {
  const projects = useLoad((signal) => listProjects(signal), []);
  const open = which.length > 0 && (!!projects.data || !!projects.error);
  const name = which.length === 1 ? `experiment ${which[0]!.id}` : `${which.length} experiments`;
  const act = async (form: FormData) => {
    const to = Number(text(form, 'project'));
    if (!to) throw new Error('There is no project to move to.');
    const results = await move(which.filter((e) => e.projectId !== to), to);
    const wrong = results.filter((r) => r.error);
    done();
    if (wrong.length) throw new Error(`${results.length - wrong.length} moved, ${wrong.length} not: ${wrong.slice(0, 3).map((r) => r.error).join('; ')}`);
    say(`${name[0]!.toUpperCase()}${name.slice(1)} moved`);
  };
  return (
    <Dialog title={`Move ${name}`} open={open} yes="Move" close={close} act={act}>
      <label>To project<ProjectSelect name="project" projects={(projects.data ?? []).filter((p) => which.length > 1 || p.id !== which[0]?.projectId)} /></label>
      {projects.error !== undefined && <p class="problem">The projects could not be loaded.</p>}
    </Dialog>
  );
}
