// A notice shows the master's message about why something waits or has failed.
import { Copy } from './bits';

export function Notice({ kind, title, text, children }: { kind: 'wait' | 'bad'; title: string; text: string; children?: preact.ComponentChildren }) {
  return (
    <div class={`notice ${kind}`} role={kind === 'bad' ? 'alert' : 'status'}>
      <div class="row"><strong>{title}</strong><span class="grow" />{kind === 'bad' && <Copy text={text} what="error" />}{children}</div>
      <p>{text}</p>
    </div>
  );
}
