// Where an attempt is in Nomad: its job, and an allocation on each of its nodes.
import type { Attempt } from '../lib/types';
import { Copy } from './bits';

export function Nomad({ attempt: a }: { attempt: Attempt }) {
  if (!a.nomadJob) return null;
  const placed = a.members.filter((m) => m.nomadAllocation);
  return (
    <p class="nomad small">
      Nomad job {a.nomadUrl ? <a href={a.nomadUrl} target="_blank" rel="noreferrer"><code>{a.nomadJob}</code></a> : <><code>{a.nomadJob}</code> <Copy text={a.nomadJob} what="job's id" /></>}
      {placed.map((m) => (
        <span key={m.rank}> <span aria-hidden="true">·</span> {placed.length > 1 && `rank ${m.rank}, `}allocation {m.nomadUrl ? <a href={m.nomadUrl} target="_blank" rel="noreferrer"><code title={m.nomadAllocation}>{m.nomadAllocation.slice(0, 8)}</code></a>
          : <><code title={m.nomadAllocation}>{m.nomadAllocation.slice(0, 8)}</code> <Copy text={m.nomadAllocation} what="allocation's id" /></>} on <a href={`/nodes/${encodeURIComponent(m.node)}`}>{m.node}</a></span>
      ))}
    </p>
  );
}
