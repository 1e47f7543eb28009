// A configuration as it was submitted, and as the master completed it.
import { useMemo } from 'preact/hooks';
import { params, setParams } from '../lib/router';
import { emit, paint } from '../lib/yaml';
import { Copy } from './bits';

export function Config({ original, complete }: { original: string; complete: Record<string, unknown> }) {
  const whole = params.value.get('config') === 'complete' || !original;
  const text = useMemo(() => (whole ? emit(complete) : original), [whole, original, complete]);
  return (
    <section aria-label="configuration">
      <div class="tools">
        {original && (
          <span class="choices" role="group" aria-label="which configuration">
            <button type="button" class={whole ? '' : 'on'} aria-pressed={!whole} onClick={() => setParams({ config: '' })}>As submitted</button>
            <button type="button" class={whole ? 'on' : ''} aria-pressed={whole} onClick={() => setParams({ config: 'complete' })}>Complete</button>
          </span>
        )}
        <span class="grow" />
        <Copy text={text} what="configuration" />
      </div>
      <pre class="yaml" tabIndex={0} aria-label={whole ? 'complete configuration' : 'configuration as submitted'}>
        {text.replace(/\n$/, '').split('\n').map((line, i) => <div key={i} class="yl"><span class="no">{i + 1}</span><code>{paint(line).map((p, j) => <span key={j} class={p.kind}>{p.text}</span>)}</code></div>)}
      </pre>
    </section>
  );
}
