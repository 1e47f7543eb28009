// The configurations that a search has trained again with other seeds, the best first.
import { metric as number } from '../lib/format';
import type { SearchRepeats } from '../lib/types';

export function Repeats({ repeats, metric }: { repeats: SearchRepeats; metric: string }) {
  const cell = (v: number | null) => (v === null ? '' : number(v));
  return (
    <section class="card" aria-label="repeats">
      <h2>Trained again</h2>
      <div class="scroll" tabIndex={0} role="group" aria-label="configurations that were trained again">
        <table class="plain">
          <thead><tr><th scope="col" class="right">Trial</th><th scope="col" class="right">Mean {metric}</th><th scope="col" class="right">Deviation</th><th scope="col">Trained again as</th></tr></thead>
          <tbody>
            {repeats.configurations.map((c) => (
              <tr key={c.trialId}>
                <td class="right num"><a href={`/trials/${c.trialId}`}>{c.trialId}</a></td>
                <td class="right num">{cell(c.mean)}</td>
                <td class="right num">{cell(c.deviation)}</td>
                <td>{c.trialIds.map((id, i) => <span key={id}>{i > 0 && ', '}<a href={`/trials/${id}`}>{id}</a></span>)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="hint">{repeats.decided ? 'The best configuration is the one with the best mean.' : 'Not all repeats have ended.'}</p>
    </section>
  );
}
