// The checkpoints of an experiment or a trial, the best one marked.
import { useMemo, useState } from 'preact/hooks';
import { ago, bytes, clock, metric, plural, roomFor, stateWord } from '../lib/format';
import { useNow } from '../lib/load';
import type { Checkpoint } from '../lib/types';
import { Copy, Empty } from './bits';
import { Register } from './Register';
import { sorted, sortOf, Table, type Column } from './Table';

const steps = (c: Checkpoint): number => Number(c.metadata.steps_completed ?? 0);
// A deleted checkpoint lists the files that it had.
const files = (c: Checkpoint): string[] => (c.state === 'STATE_DELETED' ? [] : Object.keys(c.resources));
const size = (c: Checkpoint): number => files(c).reduce((sum, f) => sum + Number(c.resources[f]), 0);

interface Props {
  list: Checkpoint[];
  metricName: string;
  smaller: boolean;
  trials: boolean; // there are several
  over: boolean;
}

export function best(list: readonly Checkpoint[], smaller: boolean): Checkpoint | undefined {
  return list
    .filter((c) => c.state === 'STATE_COMPLETED' && typeof c.training.searcherMetric === 'number')
    .reduce<Checkpoint | undefined>((a, b) => (!a || (smaller ? b.training.searcherMetric! < a.training.searcherMetric! : b.training.searcherMetric! > a.training.searcherMetric!) ? b : a), undefined);
}

export function Checkpoints(p: Props) {
  const now = useNow();
  const [chosen, choose] = useState<Checkpoint | null>(null);
  const sort = sortOf({ key: 'steps', desc: true });
  const top = useMemo(() => best(p.list, p.smaller), [p.list, p.smaller]);
  const columns: Column<Checkpoint>[] = [
    { key: 'uuid', title: 'Checkpoint', width: 'minmax(11rem, 2fr)', narrow: true, render: (c) => <span class="cut">{c === top && <span class="tag best">best</span>}<code title={c.uuid}>{c.uuid}</code></span> },
    { key: 'steps', title: 'Batches', width: '6.5rem', right: true, narrow: true, sort: steps, render: (c) => <span class="num">{steps(c).toLocaleString('en')}</span> },
    { key: 'metric', title: p.metricName || 'Metric', width: roomFor(p.metricName, 7), right: true, narrow: true, sort: (c) => c.training.searcherMetric ?? NaN, render: (c) => <span class="num">{metric(c.training.searcherMetric)}</span> },
    { key: 'trial', title: 'Trial', width: '5rem', right: true, hidden: !p.trials, sort: (c) => c.training.trialId ?? 0, render: (c) => <a href={`/trials/${c.training.trialId}`}>{c.training.trialId}</a> },
    { key: 'state', title: 'State', width: '8rem', sort: (c) => c.state, render: (c) => stateWord(c.state) },
    { key: 'size', title: 'Size', width: '6rem', right: true, sort: size, render: (c) => <span class="num">{bytes(size(c))}</span> },
    { key: 'files', title: 'Files', width: '4.5rem', right: true, hidden: true, render: (c) => <span class="num">{files(c).filter((f) => !f.endsWith('/')).length}</span> },
    { key: 'time', title: 'Saved', width: '7rem', sort: (c) => c.reportTime ?? '', render: (c) => <time dateTime={c.reportTime ?? ''} title={clock(c.reportTime)}>{ago(c.reportTime, now)}</time> },
    { key: 'get', title: ' ', width: '19.5rem', render: (c) => (
      <span class="row">
        <Copy text={c.uuid} what="checkpoint's id" />
        {c.state === 'STATE_COMPLETED' && <a class="button quiet" href={`/checkpoints/${c.uuid}`} download={`${c.uuid}.tar.gz`}>download</a>}
        {c.state === 'STATE_COMPLETED' && <button type="button" class="quiet" onClick={() => choose(c)}>register</button>}
        {c.state === 'STATE_COMPLETED' && c.training.trialId && <a class="button quiet" title="A new trial that begins with this checkpoint" href={`/trials/${c.training.trialId}/fork?as=continue&checkpoint=${c.uuid}`}>continue</a>}
      </span>
    ) },
  ];
  const rows = sorted(p.list, columns, sort);
  const removed = p.list.filter((c) => c.state === 'STATE_DELETED').length, saving = p.list.filter((c) => c.state === 'STATE_ACTIVE').length;
  return (
    <>
      {removed + saving > 0 && <p class="lead">{[removed && `${plural(removed, 'checkpoint')} of this list ${removed === 1 ? 'is' : 'are'} deleted`, saving && `${plural(saving, 'checkpoint')} ${saving === 1 ? 'is' : 'are'} being saved`].filter(Boolean).join(', ')}; the number above counts those that have files.</p>}
      <Table<Checkpoint> label="checkpoints" columns={columns} count={rows.length} row={(i) => rows[i]} id={(c) => c.uuid} sort={sort} marked={(c) => c === top} fit
        empty={<Empty title={p.over ? 'No checkpoint was saved.' : 'No checkpoint yet.'}><p>A training saves one when its code asks for it, and when it is paused.</p></Empty>} />
      <Register checkpoint={chosen} close={() => choose(null)} />
    </>
  );
}
