// A notice shows the master's message about why something waits or has failed.
import { lazy } from '../lib/lazy';
import { Copy } from './bits';

const Tail = lazy(() => import('./Tail').then((m) => m.Tail), true);

export function Notice({ kind, title, text, log, children }: { kind: 'wait' | 'bad'; title: string; text: string; log?: string | undefined; children?: preact.ComponentChildren }) {
  return (
    <div class={`notice ${kind}`} role={kind === 'bad' ? 'alert' : 'status'}>
      <div class="row"><strong>{title}</strong><span class="grow" />{kind === 'bad' && <Copy text={text} what="error" />}{children}</div>
      <p>{text}</p>
      {log && <Tail log={log} />}
    </div>
  );
}
