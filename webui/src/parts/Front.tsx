// The Pareto front of a search with several metrics: a scatter of two of them, and its results.
import { useMemo } from 'preact/hooks';
import { metric as number, plural } from '../lib/format';
import { at, extent, spots, within } from '../lib/front';
import { ticks } from '../lib/hp';
import { go, params, setParams } from '../lib/router';
import type { SearchFront, Trial } from '../lib/types';

interface Wanted {
  name: string;
  smaller_is_better?: boolean;
  at_most?: number;
  at_least?: number;
}

const wide = 640, high = 260;
const pad = { left: 64, right: 14, top: 10, bottom: 40 };

export function Front({ front, wanted, trials }: { front: SearchFront; wanted: readonly Wanted[]; trials: readonly Trial[] }) {
  const chosen = (key: string, otherwise: number) => {
    const name = params.value.get(key) ?? '';
    return front.metrics.includes(name) ? name : front.metrics[Math.min(otherwise, front.metrics.length - 1)]!;
  };
  const x = chosen('fx', 1), y = chosen('fy', 0);
  const all = useMemo(() => spots(front, trials, x, y), [front, trials, x, y]);
  const of = all.filter((s) => s.front);
  const ax = extent(x, all.map((s) => s.x), of.map((s) => s.x)), ay = extent(y, all.map((s) => s.y), of.map((s) => s.y));
  const px = (v: number) => pad.left + at(ax, v) * (wide - pad.left - pad.right);
  const py = (v: number) => pad.top + (1 - at(ay, v)) * (high - pad.top - pad.bottom);
  const shown = all.filter((s) => within(s, ax, ay));
  const better = (name: string) => {
    const m = wanted.find((w) => w.name === name);
    const bounds = [m?.at_least !== undefined && `at least ${m.at_least}`, m?.at_most !== undefined && `at most ${m.at_most}`].filter(Boolean).join(', ');
    return `${m?.smaller_is_better === false ? 'larger' : 'smaller'} is better${bounds && `; ${bounds}`}`;
  };
  const pick = (label: string, key: string, value: string) => (
    <label class="choice">{label} <select value={value} onChange={(e) => setParams({ [key]: e.currentTarget.value })}>{front.metrics.map((m) => <option key={m} value={m}>{m}</option>)}</select></label>
  );
  return (
    <section class="card" aria-label="front">
      <h2>Front</h2>
      {front.metrics.length > 2 && <div class="tools">{pick('Across', 'fx', x)}{pick('Up', 'fy', y)}</div>}
      <svg class="front-chart" role="img" viewBox={`0 0 ${wide} ${high}`} aria-label={`${x} and ${y} of ${plural(shown.length, 'result')}, ${of.length} of them on the front`}>
        {ticks(ax, 6).map((t) => <g key={t.value}><line x1={px(t.value)} x2={px(t.value)} y1={pad.top} y2={high - pad.bottom} /><text x={px(t.value)} y={high - pad.bottom + 14} text-anchor="middle">{number(t.value)}</text></g>)}
        {ticks(ay, 5).map((t) => <g key={t.value}><line x1={pad.left} x2={wide - pad.right} y1={py(t.value)} y2={py(t.value)} /><text x={pad.left - 6} y={py(t.value) + 4} text-anchor="end">{number(t.value)}</text></g>)}
        <text x={(wide + pad.left) / 2} y={high - 6} text-anchor="middle">{x}</text>
        <text x={12} y={(high - pad.bottom) / 2} text-anchor="middle" transform={`rotate(-90 12 ${(high - pad.bottom) / 2})`}>{y}</text>
        {[...shown].sort((a, b) => Number(a.front) - Number(b.front)).map((s, i) => (
          <circle key={i} class={s.front ? 'on' : ''} cx={px(s.x)} cy={py(s.y)} r={s.front ? 5 : 3.5} onClick={() => go(`/trials/${s.trial}`)}>
            <title>{`trial ${s.trial}: ${x} ${number(s.x)}, ${y} ${number(s.y)}${s.front ? ', on the front' : ''}`}</title>
          </circle>
        ))}
      </svg>
      <div class="scroll" tabIndex={0} role="group" aria-label="results on the front">
        <table class="plain">
          <thead><tr><th scope="col" class="right">Trial</th><th scope="col" class="right">Batches</th>{front.metrics.map((m) => <th key={m} scope="col" class="right" title={better(m)}>{m}</th>)}</tr></thead>
          <tbody>
            {front.points.map((p) => (
              <tr key={`${p.trialId}-${p.stepsCompleted}`}>
                <td class="right num"><a href={`/trials/${p.trialId}`}>{p.trialId}</a></td>
                <td class="right num">{p.stepsCompleted.toLocaleString('en')}</td>
                {p.values.map((v, i) => <td key={i} class="right num">{number(v)}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {front.points.length < front.total && <p class="hint">{front.points.length} of {front.total} results on the front are shown.</p>}
    </section>
  );
}
