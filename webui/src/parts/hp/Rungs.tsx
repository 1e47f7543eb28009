// What a halving search has stopped, and at which of its rungs.
import { metric as number, plural } from '../../lib/format';
import { lengthAxis, type Brush } from '../../lib/hp';
import type { Ladder } from '../../lib/rungs';

export function Rungs({ ladder, metric, brush, onBrush }: { ladder: Ladder; metric: string; brush: Brush; onBrush: (b: Brush, done: boolean) => void }) {
  const most = Math.max(1, ...ladder.rungs.map((g) => g.reached));
  const choose = (i: number) => {
    const from = ladder.rungs[i]!.length * 0.995, to = (ladder.rungs[i + 1]?.length ?? Infinity) * 0.995 - 1;
    onBrush({ ...brush, [lengthAxis]: [from, Number.isFinite(to) ? to : ladder.rungs[i]!.length * 1e6] }, true);
  };
  return (
    <>
      <div class="scroll" tabIndex={0} role="group" aria-label="rungs of the search">
        <table class="plain">
          <thead><tr><th scope="col">Rung</th><th scope="col" class="right">Batches</th><th scope="col">Reached</th><th scope="col" class="right">Stopped here</th><th scope="col" class="right">Waiting here</th><th scope="col" class="right">On the way</th><th scope="col" class="right">Best {metric}</th><th scope="col"><span class="unseen">choose</span></th></tr></thead>
          <tbody>
            {ladder.rungs.map((g, i) => (
              <tr key={i}>
                <th scope="row">{i + 1}</th>
                <td class="right num">{ladder.estimated && '≈ '}{Math.round(g.length).toLocaleString('en')}</td>
                <td><span class="rung"><span class="bar" style={{ width: `${(100 * g.reached) / most}%` }}><span class="cutoff" style={{ width: `${g.reached ? (100 * (g.stopped + g.failed)) / g.reached : 0}%` }} /></span></span> <span class="num">{g.reached.toLocaleString('en')}</span></td>
                <td class="right num">{g.failed > 0 && <span class="faint">{g.failed} failed{i < ladder.rungs.length - 1 && ', '}</span>}{i < ladder.rungs.length - 1 ? g.stopped.toLocaleString('en') : !g.failed && <span class="faint">–</span>}</td>
                <td class="right num">{g.waiting || <span class="faint">–</span>}</td>
                <td class="right num">{g.running || <span class="faint">–</span>}</td>
                <td class="right num">{number(g.best)}</td>
                <td><button type="button" class="quiet" disabled={!g.reached} onClick={() => choose(i)} aria-label={`choose the ${plural(g.reached, 'trial')} that ended or are at rung ${i + 1}`}>choose</button></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {ladder.estimated && <p class="hint">The search counts in another unit than batches; its lengths are converted with the longest trial.</p>}
    </>
  );
}
