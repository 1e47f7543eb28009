// Two hyperparameters at once: in each cell the best trial of those that have both values.
import { useMemo, useRef, useState } from 'preact/hooks';
import { metric as number, plural } from '../../lib/format';
import { binBrush, binsOf, cellsOf, valueAt, type Axis, type Brush, type Cell, type Field } from '../../lib/hp';
import { params, setParams } from '../../lib/router';
import { shadeOf } from '../../lib/ramp';
import { token } from '../../lib/theme';
import { fit, Layer, Stage, type Pen } from './Layer';
import type { Look } from './look';

interface Props {
  field: Field;
  look: Look;
  mark: Uint8Array;
  brush: Brush;
  metric: string;
  first: string[]; // names to begin with, the most important first
  onBrush: (b: Brush, done: boolean) => void;
}

const height = 300;
const pad = { left: 78, right: 8, top: 6, bottom: 26 };

export function Heat(p: Props) {
  const names = p.field.axes.filter((a) => !a.name.startsWith(' ')).map((a) => a.name);
  const [over, setOver] = useState<Cell | null>(null);
  const width = useRef(0);
  const first = p.first.filter((n) => names.includes(n)).concat(names);
  const wx = params.value.get('hx') ?? '', wy = params.value.get('hy') ?? '';
  const xName = names.includes(wx) ? wx : first[0] ?? '';
  const yName = names.includes(wy) && wy !== xName ? wy : first.find((n) => n !== xName) ?? '';
  const x = p.field.axes.findIndex((a) => a.name === xName), y = p.field.axes.findIndex((a) => a.name === yName);
  const cells = useMemo(() => (x >= 0 && y >= 0 ? cellsOf(p.field, x, y, p.mark) : []), [p.field, x, y, p.mark]);
  if (x < 0 || y < 0) return <p class="faint">A heat map needs two hyperparameters that differ.</p>;
  const ax = p.field.axes[x]!, ay = p.field.axes[y]!;
  const nx = binsOf(ax), ny = binsOf(ay);
  const cw = (w: number) => (w - pad.left - pad.right) / nx;
  const ch = (height - pad.top - pad.bottom) / ny;
  const find = (px: number, py: number) => {
    const cx = Math.floor((px - pad.left) / cw(width.current)), cy = ny - 1 - Math.floor((py - pad.top) / ch);
    return cells.find((c) => c.x === cx && c.y === cy) ?? null;
  };
  const best = cells.reduce<Cell | null>((a, c) => (!Number.isNaN(c.rank) && (!a || c.rank < a.rank) ? c : a), null);
  const says = (c: Cell) => `${xName} ${span(ax, c.x)}, ${yName} ${span(ay, c.y)}: best ${p.metric} ${number(c.value)} of ${plural(c.count, 'trial')}`;
  return (
    <>
      <div class="tools">
        <label class="choice">across <select value={xName} onChange={(e) => setParams({ hx: e.currentTarget.value })}>{names.map((n) => <option key={n}>{n}</option>)}</select></label>
        <label class="choice">up <select value={yName} onChange={(e) => setParams({ hy: e.currentTarget.value })}>{names.filter((n) => n !== xName).map((n) => <option key={n}>{n}</option>)}</select></label>
      </div>
      <Stage height={height} cursor={over ? 'pointer' : 'default'} label={`Heat map of ${xName} and ${yName}. ${best ? `The best cell: ${says(best)}` : 'No trial has a value.'}`}
        onMove={(px, py) => setOver(find(px, py))} onLeave={() => setOver(null)}
        onUp={(px, py) => {
          const c = find(px, py);
          if (c) p.onBrush({ ...p.brush, [xName]: binBrush(ax, c.x), [yName]: binBrush(ay, c.y) }, true);
        }}>
        {(w) => {
          width.current = w;
          return (
            <>
              <Layer width={w} height={height} when={[cells, p.look]} draw={(pen) => {
                pen.fillStyle = token('--sunk');
                pen.fillRect(pad.left, pad.top, w - pad.left - pad.right, height - pad.top - pad.bottom);
                for (const c of cells) {
                  pen.fillStyle = p.look.colors[shadeOf(1 - c.rank)] ?? token('--off-soft');
                  pen.fillRect(pad.left + c.x * cw(w) + 0.5, pad.top + (ny - 1 - c.y) * ch + 0.5, cw(w) - 1, ch - 1);
                }
                labels(pen, w, ax, ay, cw(w), ch);
              }} />
              <Layer width={w} height={height} when={[over, cells]} draw={(pen) => {
                for (const [c, color] of [[best, token('--text')], [over, token('--accent')]] as const) {
                  if (!c) continue;
                  pen.lineWidth = 2;
                  pen.strokeStyle = color;
                  pen.strokeRect(pad.left + c.x * cw(w) + 1, pad.top + (ny - 1 - c.y) * ch + 1, cw(w) - 2, ch - 2);
                }
              }} />
            </>
          );
        }}
      </Stage>
      <p class="hint" aria-hidden="true">{over ? says(over) : best ? `best: ${says(best)}` : ' '}</p>
    </>
  );
}

function span(a: Axis, bin: number): string {
  if (a.kind === 'category') return a.values[bin] ?? '';
  if (a.whole) return String(a.min + bin);
  const n = binsOf(a);
  return `${number(Number(valueAt(a, bin / n).toPrecision(3)))} … ${number(Number(valueAt(a, (bin + 1) / n).toPrecision(3)))}`;
}

function labels(pen: Pen, w: number, ax: Axis, ay: Axis, cw: number, ch: number) {
  pen.font = `11px ${token('--sans')}`;
  pen.fillStyle = token('--muted');
  pen.textBaseline = 'middle';
  pen.textAlign = 'right';
  const text = (a: Axis, bin: number, edge: number) => (a.kind === 'category' ? a.values[bin] ?? '' : a.whole ? String(a.min + bin) : number(Number(valueAt(a, edge / binsOf(a)).toPrecision(3))));
  const ny = binsOf(ay), ey = Math.max(1, Math.ceil(18 / ch));
  for (let i = 0; i < ny; i += ey) pen.fillText(fit(pen, text(ay, i, i + 0.5), pad.left - 8), pad.left - 6, pad.top + (ny - 0.5 - i) * ch);
  pen.textAlign = 'center';
  const nx = binsOf(ax), ex = Math.max(1, Math.ceil(58 / cw));
  for (let i = 0; i < nx; i += ex) pen.fillText(fit(pen, text(ax, i, i + 0.5), cw * ex - 4), Math.min(w - 20, pad.left + (i + 0.5) * cw), height - pad.bottom + 13);
}
