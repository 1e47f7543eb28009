// What the master says of a configuration before anything starts.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../lib/api';
import { words } from '../lib/toast';
import { emit, paint } from '../lib/yaml';
import type { Checked } from '../lib/do';

const settle = 400;
const again = 3000;

export interface Answer {
  checked?: Checked;
  problem?: string;
  away?: boolean;
  busy: boolean;
}

// useCheck asks a moment after the last change; the newest answer wins. null: there is nothing to ask.
export function useCheck(ask: ((signal: AbortSignal) => Promise<Checked>) | null, deps: unknown): Answer {
  const [answer, set] = useState<Answer>({ busy: true });
  const [round, retry] = useState(0);
  const asker = useRef(ask);
  asker.current = ask;
  const wanted = JSON.stringify(deps);
  useEffect(() => {
    if (!asker.current) {
      set({ busy: false });
      return;
    }
    const stop = new AbortController();
    let timer = setTimeout(() => {
      asker.current?.(stop.signal).then(
        (checked) => !stop.signal.aborted && set({ checked, busy: false }),
        (error: unknown) => {
          if (stop.signal.aborted) return;
          const away = error instanceof ApiError && error.away;
          set({ problem: words(error), away, busy: false });
          if (away) timer = setTimeout(() => retry((n) => n + 1), again);
        },
      );
    }, settle);
    set((old) => ({ ...old, busy: true }));
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [wanted, round]);
  return answer;
}

// Check shows the answer; doubt is a reason, which the master does not know, why the work may fail at once.
export function Check({ answer, local, doubt, what }: { answer: Answer; local?: string | undefined; doubt?: string | undefined; what: string }) {
  const { checked, busy } = answer;
  const problem = local || answer.problem;
  const config = checked?.config;
  const text = config ? emit(config) : '';
  return (
    <section class="card check" aria-label="check by the master" aria-busy={busy}>
      <div class="row">
        <h2><span class={`state ${problem ? 'bad' : !checked ? 'off' : doubt ? 'wait' : 'good'}`}>{problem ? 'This cannot start' : checked ? (doubt ? 'This may not start' : 'This can start') : 'Checking…'}</span></h2>
        <span class="grow" />
        {busy && <span class="faint small">checking…</span>}
      </div>
      <div aria-live="polite">
        {problem ? <p class="said bad" id="check-problem">{problem}</p> : checked && (
          <>
            <p class="faint small">The master has checked {what}.</p>
            {doubt && <p class="said wait">{doubt}</p>}
            {checked.remarks.map((r) => <p key={r} class="said wait">{r}</p>)}
            {checked.warnings.includes('LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED') && !checked.remarks.length && <p class="said wait">The pool has fewer slots than this asks for; it waits until there are enough.</p>}
          </>
        )}
      </div>
      {text && !problem && (
        <details>
          <summary>With all defaults</summary>
          <pre class="yaml small" tabIndex={0} aria-label="configuration with all defaults">{text.replace(/\n$/, '').split('\n').map((line, i) => <div key={i} class="yl plain"><code>{paint(line).map((p, j) => <span key={j} class={p.kind}>{p.text}</span>)}</code></div>)}</pre>
        </details>
      )}
    </section>
  );
}
