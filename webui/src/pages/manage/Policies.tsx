// Config policies: fields that administrators set in the configurations of others, and limits.
import { useState } from 'preact/hooks';
import { read, write } from '../../lib/draft';
import { useLoad } from '../../lib/load';
import { attempt, manage } from '../../lib/manage';
import { say, words } from '../../lib/toast';
import { Confirm, Loading, Problem, type Question } from '../../parts/bits';
import { Editor } from '../../parts/Editor';

const workloads = [
  { key: 'EXPERIMENT', title: 'Experiments' },
  { key: 'NTSC', title: 'Notebooks, TensorBoards, shells, commands and generic tasks' },
];
const beginning = '# invariant_config is laid over each configuration\n# invariant_config:\n#   resources: {priority: 60}\n# constraints limit what may be asked for\n# constraints:\n#   resources: {max_slots: 8}\n#   priority_limit: 10\n';

export function Policies({ workspace, may }: { workspace?: number; may: boolean }) {
  return (
    <div class="stack scroll narrow-form">
      <p class="lead">What {workspace === undefined ? 'the cluster' : 'this workspace'} demands of all configurations{workspace === undefined ? '' : ', beside what the cluster demands'}. It holds for what is submitted from now on{may ? '' : '; only administrators change it'}.</p>
      {workloads.map((w) => <One key={w.key} title={w.title} workload={w.key} {...(workspace === undefined ? {} : { workspace })} may={may} />)}
    </div>
  );
}

function One({ workload, title, workspace, may }: { workload: string; title: string; workspace?: number; may: boolean }) {
  const loaded = useLoad((signal) => manage.policies(workload, workspace, signal), [workload, workspace]);
  const [text, setText] = useState<string>();
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState('');
  const [question, setQuestion] = useState<Question | null>(null);
  if (!loaded.data) return loaded.error ? <Problem what={`Could not load the policies for ${title}.`} error={loaded.error} retry={loaded.reload} /> : <Loading />;
  const set = Object.keys(loaded.data).length > 0;
  const shown = text ?? (set ? write(loaded.data) : '');
  const wrong = read(shown).problem ?? '';
  const save = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setFailed('');
    try {
      await manage.setPolicies(workload, workspace, shown);
      say('The policies are saved');
      setText(undefined);
      loaded.reload();
    } catch (error) {
      setFailed(words(error));
    } finally {
      setBusy(false);
    }
  };
  const remove = () => setQuestion({
    title: 'Delete these policies?', text: 'What is submitted from now on is not held to them.', yes: 'Delete', danger: true,
    act: async () => {
      await attempt('Delete the policies', () => manage.removePolicies(workload, workspace), 'The policies are deleted');
      setText(undefined);
      loaded.reload();
    },
  });
  return (
    <form class="stack" onSubmit={save} aria-label={title}>
      <h2>{title}</h2>
      {!set && text === undefined ? (
        <div class="row"><span class="faint">No policy.</span>{may && <button type="button" onClick={() => setText(beginning)}>Write one</button>}</div>
      ) : may ? (
        <>
          <Editor label={`policies for ${title}`} value={shown} change={setText} wrong={!!wrong} rows={Math.min(24, Math.max(9, shown.split('\n').length + 1))} />
          {wrong && <p class="said bad">{wrong}</p>}
          {failed && <p class="problem" role="alert">{failed}</p>}
          <div class="row">
            <button type="submit" class="main" disabled={busy || !!wrong || text === undefined}>Save</button>
            {text !== undefined && <button type="button" onClick={() => setText(undefined)}>Go back</button>}
            {set && <button type="button" class="danger" onClick={remove}>Delete</button>}
          </div>
        </>
      ) : <pre class="yaml small pad-yaml" tabIndex={0} aria-label={`policies for ${title}`}>{shown}</pre>}
      <Confirm question={question} close={() => setQuestion(null)} />
    </form>
  );
}
