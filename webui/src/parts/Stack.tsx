// Bars of several layers over time, as SVG: the style sheet colours them in both themes.
import { useEffect, useRef, useState } from 'preact/hooks';
import { compact } from '../lib/format';
import { ticks, type Layer } from '../lib/usage';

interface Props {
  label: string; // what it shows, in words
  periods: readonly string[];
  layers: readonly Layer[];
  say: (hours: number) => string;
}

const height = 240;
const left = 46, right = 8, top = 10, bottom = 24;
const widestBar = 44;

export function Stack({ label, periods, layers, say }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  const [at, setAt] = useState<number | null>(null);
  useEffect(() => {
    const el = box.current;
    if (!el) return;
    const watch = new ResizeObserver(() => setWidth(Math.max(240, el.clientWidth)));
    watch.observe(el);
    return () => watch.disconnect();
  }, []);
  const tops = periods.map((_, i) => layers.reduce((sum, l) => sum + l.values[i]!, 0));
  const marks = ticks(Math.max(0, ...tops));
  const most = marks.at(-1)!;
  const room = (width - left - right) / Math.max(1, periods.length);
  const bar = Math.min(widestBar, Math.max(1, room * 0.78));
  const y = (v: number) => top + (height - top - bottom) * (1 - v / most);
  const x = (i: number) => left + room * i + (room - bar) / 2;
  const every = Math.max(1, Math.ceil(periods.length / Math.max(1, Math.floor((width - left - right) / 76))));
  const named = at === null ? null : layers.filter((l) => l.values[at]! > 0);
  return (
    <div ref={box}>
      <svg class="stack-chart" role="img" aria-label={label} width={width} height={height} viewBox={`0 0 ${width} ${height}`} onPointerLeave={() => setAt(null)}
        onPointerMove={(e) => {
          const i = Math.floor((e.clientX - (e.currentTarget as SVGElement).getBoundingClientRect().left - left) / room);
          setAt(i >= 0 && i < periods.length ? i : null);
        }}>
        {marks.map((m) => (
          <g key={m}>
            <line class="stack-grid" x1={left} x2={width - right} y1={y(m)} y2={y(m)} />
            <text class="stack-text" x={left - 6} y={y(m) + 4} text-anchor="end">{compact(m)}</text>
          </g>
        ))}
        {at !== null && <rect class="stack-at" x={left + room * at} y={top} width={room} height={height - top - bottom} />}
        {periods.map((p, i) => {
          let below = 0;
          return (
            <g key={p}>
              {layers.map((l) => {
                const v = l.values[i]!;
                if (v <= 0) return null;
                const from = below;
                below += v;
                return <rect key={l.name} fill={`var(--curve-${l.color})`} x={x(i)} width={bar} y={y(below)} height={Math.max(0.5, y(from) - y(below))} />;
              })}
              {i % every === 0 && <text class="stack-text" x={left + room * (i + 0.5)} y={height - 8} text-anchor="middle">{p.slice(periods.length > 366 || p.length === 7 ? 0 : 5)}</text>}
            </g>
          );
        })}
      </svg>
      <p class="hint" aria-hidden="true">{at === null || !named ? 'Point at a bar for its numbers.' : `${periods[at]}: ${say(tops[at]!)}${named.length ? ` — ${named.map((l) => `${l.name} ${say(l.values[at]!)}`).join(', ')}` : ''}`}</p>
    </div>
  );
}
