// The newest values of a trial's metrics that are no numbers.
import { useMemo } from 'preact/hooks';
import { plural } from '../lib/format';
import type { Trial } from '../lib/types';
import { valuesOf } from '../lib/values';
import { Fact } from './bits';

export function Values({ of }: { of: Trial }) {
  const { list, more } = useMemo(() => valuesOf(of.summaryMetrics), [of.summaryMetrics]);
  if (list.length === 0) return null;
  return (
    <section class="card" aria-label="other values">
      <h2>Other values</h2>
      <dl class="mono">
        {list.map((v) => <Fact key={v.name} name={v.name}><span title={v.text}>{v.text}</span>{v.batches !== null && <span class="faint small"> at {plural(v.batches, 'batch', 'batches')}</span>}</Fact>)}
      </dl>
      {more > 0 && <p class="faint small">And {more.toLocaleString('en')} more.</p>}
    </section>
  );
}
