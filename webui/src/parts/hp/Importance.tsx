// How much each hyperparameter matters, with how sure that is.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { percent, plural } from '../../lib/format';
import { minTrials, maxTrials, type Result } from '../../lib/forest';
import type { Field } from '../../lib/hp';
import { sameLength, type SameLength } from '../../lib/length';
import { Loading } from '../bits';

const settle = 400;

export interface Important {
  names: string[];
  result: Result | null | undefined; // undefined: not yet
  at: SameLength;
}

// useImportance computes beside the page, and again when there are more trials or they compare at another length.
export function useImportance(field: Field, smaller: boolean): Important {
  const [state, set] = useState<{ names: string[]; result: Result | null | undefined }>({ names: [], result: undefined });
  const worker = useRef<Worker | null>(null);
  const turn = useRef(0);
  const at = useMemo(() => sameLength(field.rows, smaller, minTrials), [field.rows, smaller]);
  const names = field.axes.map((a) => a.name).filter((n) => !n.startsWith(' '));
  useEffect(() => () => worker.current?.terminate(), []);
  useEffect(() => {
    const columns = field.axes.flatMap((a, i) => (a.name.startsWith(' ') ? [] : [field.at[i]!]));
    if (at.trials < minTrials || !columns.length) return set({ names, result: null });
    set((s) => (s.result ? s : { names, result: undefined }));
    const timer = setTimeout(() => {
      worker.current ??= new Worker(new URL('../../lib/forest.worker.ts', import.meta.url), { type: 'module' });
      const mine = ++turn.current;
      worker.current.onmessage = (e: MessageEvent<{ turn: number; result: Result | null }>) => {
        if (e.data.turn === turn.current) set({ names, result: e.data.result });
      };
      worker.current.postMessage({ turn: mine, columns, ranks: at.ranks });
    }, settle);
    return () => clearTimeout(timer);
  }, [at.trials, at.length, names.join('\n')]);
  return useMemo(() => ({ ...state, at }), [state, at]);
}

const weak = 0.1; // a forest that explains less says nothing

export function Importance({ names, result, at, ordered, smaller, metric }: Important & { ordered: ReadonlySet<string>; smaller: boolean; metric: string }) {
  if (result === undefined) return <Loading lines={4} />;
  if (result === null) return <p class="faint">{names.length ? `At least ${minTrials} trials with a value of ${metric} are needed.` : 'No hyperparameter differs between the trials.'}</p>;
  const list = names.map((name, i) => ({ name, ...result.shares[i]! })).sort((a, b) => b.mean - a.mean);
  const most = Math.max(0.05, ...list.map((s) => s.high));
  const x = (v: number) => `${(100 * Math.max(0, v)) / most}%`;
  return (
    <>
      {at.differ && <p class="hint">The best {metric} up to {plural(at.length, 'batch', 'batches')}, of the {plural(at.trials, 'trial')} that reached them.</p>}
      {result.explained < weak && <p class="weak">The forest explains {percent(Math.max(0, result.explained))} of the differences between trials: too little to tell what matters.</p>}
      <ul class={`shares${result.explained < weak ? ' dim' : ''}`}>
        {list.map((s) => {
          // A rank correlation above 0: larger values have worse ranks.
          const way = !ordered.has(s.name) || Math.abs(s.slope) < 0.15 || Number.isNaN(s.slope) ? '' : s.slope < 0 ? 'larger is better' : 'smaller is better';
          return (
            <li key={s.name}>
              <span class="row"><b class="cut" title={s.name}>{s.name}</b><span class="grow" /><span class="faint small">{way}</span><span class="num">{share(s.mean)}</span></span>
              <span class="share" role="img" aria-label={`${share(s.mean)}, between ${share(s.low)} and ${share(s.high)}`}>
                <span class="bar" style={{ width: x(s.mean) }} />
                <span class="whisker" style={{ left: x(s.low), width: `calc(${x(s.high)} - ${x(s.low)})` }} />
              </span>
            </li>
          );
        })}
      </ul>
      <details class="method">
        <summary>How this is computed</summary>
        <p>A random forest predicts the rank of a trial by its best {metric} ({smaller ? 'smaller' : 'larger'} is better) up to the same length for all: the largest that half of the
          trials reached, here {plural(at.length, 'batch', 'batches')}; trials that ended before are left out. The number is the part of the ranks' variance that depends
          on one hyperparameter, alone or together with others: half of what a tree's squared error grows by when the values of that hyperparameter are shuffled, on trials that the tree
          has not seen (permutation importance). The line is the 5th to
          95th percentile of 20 parts of the forest; each part has eight trees, and each tree its own resample of the trials. The mean of the trees that have not seen a trial explains {percent(Math.max(0, result.explained))} of
          the variance; {result.trials.toLocaleString('en')} trials were used{result.trials === maxTrials ? ', drawn at random' : ''}. Hyperparameters that move together share their importance.
          Which values are better comes from the rank correlation (Spearman), where it is above 0.15.</p>
      </details>
    </>
  );
}

// share writes an importance, and never -0.00.
const share = (v: number): string => (Math.round(v * 100) / 100 || 0).toFixed(2);
