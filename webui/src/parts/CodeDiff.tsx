// What differs between the code of two experiments.
import { useMemo, useState } from 'preact/hooks';
import { changes, hunks } from '../lib/diff';
import { filesOf, maxBytes, textOf, treeOf } from '../lib/code';
import type { Compared } from '../lib/compare';
import { bytes, plural } from '../lib/format';
import { useLoad } from '../lib/load';
import { params, setParams } from '../lib/router';
import { Empty, Loading, Problem } from './bits';

const maxFiles = 300; // that both have, and whose content is compared
const maxLines = 3000; // of one difference that is drawn

type Status = 'added' | 'removed' | 'changed' | 'same' | 'unknown';
interface Pair {
  path: string;
  status: Status;
  left: string | null; // null: no text, or not there
  right: string | null;
  size: number;
}

export function CodeDiff({ list, baseline }: { list: Compared[]; baseline: Compared }) {
  const experiments = useMemo(() => [...new Map(list.map((c) => [c.experiment.id, c.experiment])).values()], [list]);
  const others = experiments.filter((e) => e.id !== baseline.experiment.id);
  const other = others.find((e) => e.id === Number(params.value.get('with'))) ?? others[0];
  const left = baseline.experiment.id, right = other?.id ?? 0;
  const loaded = useLoad(async (signal): Promise<Pair[]> => {
    if (!right) return [];
    const [a, b] = await Promise.all([treeOf(left, signal), treeOf(right, signal)]);
    const x = new Map(filesOf(a).map((f) => [f.path, f.size])), y = new Map(filesOf(b).map((f) => [f.path, f.size]));
    const out: Pair[] = [];
    let read = 0;
    for (const path of [...new Set([...x.keys(), ...y.keys()])].sort()) {
      const size = Math.max(x.get(path) ?? 0, y.get(path) ?? 0);
      const small = size <= maxBytes && read < maxFiles;
      if (x.has(path) && y.has(path)) {
        if (!small) {
          out.push({ path, status: x.get(path) === y.get(path) ? 'unknown' : 'changed', left: null, right: null, size });
          continue;
        }
        read++;
        const [l, r] = await Promise.all([textOf(left, path, signal), textOf(right, path, signal)]);
        const same = l === r && (l !== null || x.get(path) === y.get(path));
        out.push({ path, status: same ? (l === null ? 'unknown' : 'same') : 'changed', left: l, right: r, size });
      } else if (x.has(path)) out.push({ path, status: 'removed', left: small ? await textOf(left, path, signal) : null, right: '', size });
      else out.push({ path, status: 'added', left: '', right: small ? await textOf(right, path, signal) : null, size });
    }
    return out;
  }, [left, right]);
  if (!other) return <Empty title="The trials are of one experiment, so they have the same code." />;
  if (loaded.error) return <Problem what="Could not load the code." error={loaded.error} retry={loaded.reload} />;
  if (!loaded.data) return <Loading lines={5} />;
  const moved = loaded.data.filter((p) => p.status !== 'same' && p.status !== 'unknown');
  const same = loaded.data.filter((p) => p.status === 'same').length, unknown = loaded.data.filter((p) => p.status === 'unknown');
  return (
    <>
      <div class="tools">
        <span>From <b>{left} {baseline.experiment.name}</b> to</span>
        {others.length > 1 ? <select aria-label="compare with" value={right} onChange={(e) => setParams({ with: e.currentTarget.value })}>{others.map((e) => <option key={e.id} value={e.id}>{e.id} {e.name}</option>)}</select> : <b>{other.id} {other.name}</b>}
        <span class="faint small">{plural(moved.length, 'file')} differ{moved.length === 1 ? 's' : ''}, {same} {same === 1 ? 'is' : 'are'} the same{unknown.length > 0 && `, ${unknown.length} of the same size not compared (no text, or too large)`}</span>
      </div>
      {loaded.data.length === 0 ? <Empty title="Neither experiment has code." /> : moved.length === 0 && <Empty title="The code is the same." />}
      {moved.map((p) => <One key={p.path} pair={p} />)}
    </>
  );
}

function One({ pair: p }: { pair: Pair }) {
  const [open, setOpen] = useState(true);
  const parts = useMemo(() => (p.left === null || p.right === null ? null : hunks(changes(p.left, p.right))), [p]);
  const count = parts?.reduce((n, h) => n + h.length, 0) ?? 0;
  return (
    <section class="card diff" aria-label={p.path}>
      <div class="row"><button type="button" class="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? '▾' : '▸'}</button><h2 class="path"><code>{p.path}</code></h2><span class={`state ${p.status === 'added' ? 'good' : p.status === 'removed' ? 'bad' : 'hold'}`}>{p.status}</span></div>
      {open && (parts === null ? <p class="faint">No text, or more than {bytes(maxBytes)}: {bytes(p.size)}.</p> : count > maxLines ? <p class="faint">{plural(count, 'line')} differ: too many to show.</p> : (
        <div class="scroll" tabIndex={0} role="group" aria-label={`changes of ${p.path}`}>
          <table class="lined"><tbody>
            {parts.flatMap((h, i) => [
              ...(i ? [<tr key={`gap${i}`} class="gap"><td colSpan={3}>⋯</td></tr>] : []),
              ...h.map((c, k) => <tr key={`${i}.${k}`} class={c.kind === '+' ? 'plus' : c.kind === '-' ? 'minus' : ''}><td class="no">{c.left || ''}</td><td class="no">{c.right || ''}</td><td><code><span class="unseen">{c.kind === '+' ? 'added: ' : c.kind === '-' ? 'removed: ' : ''}</span>{c.kind} {c.text}</code></td></tr>),
            ])}
          </tbody></table>
        </div>
      ))}
    </section>
  );
}
