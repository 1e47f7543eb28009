// Parallel coordinates: a line for each trial, a vertical axis for each hyperparameter, the metric last.
// Dragging along an axis chooses a range of it.
import { useMemo, useRef, useState } from 'preact/hooks';
import { metric as number, plural } from '../../lib/format';
import { brushOf, lengthAxis, metricAxis, place, ticks, type Axis, type Brush, type Field } from '../../lib/hp';
import { token } from '../../lib/theme';
import { fit, inSteps, Layer, Stage, type Pen } from './Layer';
import type { Look } from './look';

interface Props {
  field: Field;
  look: Look;
  brush: Brush;
  mark: Uint8Array;
  count: number;
  names: (a: Axis) => string;
  hover: number;
  onHover: (row: number) => void;
  onBrush: (b: Brush, done: boolean) => void;
  onPick: (row: number) => void;
}

const height = 340;
const top = 34;
const bottom = 18;
const side = 64;
const near = 16; // pixels from an axis at which a drag chooses
const lot = 1200; // lines in one frame
const first = 400; // in the first one, which follows the mouse

export function Parallel(p: Props) {
  const { field, brush } = p;
  const drag = useRef<{ axis: number; from: number; moved: boolean } | null>(null);
  const [over, setOver] = useState(-1);
  const n = field.axes.length;
  const brushed = Object.keys(brush).length > 0;
  const x = (w: number, i: number) => (n < 2 ? w / 2 : side + (i * (w - 2 * side)) / (n - 1));
  const y = (v: number) => top + (1 - v) * (height - top - bottom);
  const v = (py: number) => 1 - (py - top) / (height - top - bottom);
  const order = useMemo(() => byRank(field), [field]);
  const width = useRef(0);
  const axisAt = (px: number) => field.axes.findIndex((_, i) => Math.abs(px - x(width.current, i)) <= near);

  const line = (pen: Pen, w: number, i: number) => {
    let open = false;
    for (let a = 0; a < n; a++) {
      const at = field.at[a]![i]!;
      const px = x(w, a);
      const py = Number.isNaN(at) ? height - 5 : y(at); // what has no place is below
      if (open) pen.lineTo(px, py);
      else pen.moveTo(px, py);
      open = true;
    }
  };
  const lines = (pen: Pen, w: number, list: number[], color: ((i: number) => string) | string, alpha: number) => {
    pen.lineJoin = 'bevel';
    return inSteps(list.length, first, lot, (from, to) => {
      pen.globalAlpha = alpha;
      pen.lineWidth = 1;
      let last = '';
      for (let k = from; k < to; k++) {
        const c = typeof color === 'string' ? color : color(list[k]!);
        if (c !== last || (k - from) % 100 === 0) {
          if (k > from) pen.stroke();
          pen.beginPath();
          pen.strokeStyle = last = c;
        }
        line(pen, w, list[k]!);
      }
      if (to > from) pen.stroke();
      pen.globalAlpha = 1;
    });
  };

  const move = (px: number, py: number) => {
    const d = drag.current;
    if (d) {
      const to = v(py);
      if (Math.abs(to - d.from) * (height - top - bottom) > 3) d.moved = true;
      if (d.moved) p.onBrush({ ...brush, [field.axes[d.axis]!.name]: brushOf(field.axes[d.axis]!, d.from, to) }, false);
      return;
    }
    const axis = axisAt(px);
    setOver(axis);
    p.onHover(axis >= 0 ? -1 : nearest(field, p.mark, px, py, (a) => x(width.current, a), y));
  };

  return (
    <Stage height={height} least={2 * side + (n - 1) * 92} cursor={over >= 0 ? 'ns-resize' : p.hover >= 0 ? 'pointer' : 'default'}
      label={`Parallel coordinates of ${plural(field.rows.length, 'trial')} over ${field.axes.map(p.names).join(', ')}; ${p.count.toLocaleString('en')} chosen. The ranges can also be typed, under Ranges.`}
      onDown={(px, py, e) => {
        const axis = axisAt(px);
        if (axis < 0 || e.button !== 0) return;
        drag.current = { axis, from: v(py), moved: false };
        p.onHover(-1);
      }}
      onMove={move}
      onUp={(px, py) => {
        const d = drag.current;
        drag.current = null;
        if (!d) {
          const row = nearest(field, p.mark, px, py, (a) => x(width.current, a), y);
          if (row >= 0) p.onPick(row);
          return;
        }
        const name = field.axes[d.axis]!.name;
        if (d.moved) p.onBrush({ ...brush, [name]: brushOf(field.axes[d.axis]!, d.from, v(py)) }, true);
        else p.onBrush(without(brush, name), true);
      }}
      onLeave={() => {
        setOver(-1);
        p.onHover(-1);
      }}>
      {(w) => {
        width.current = w;
        return (
          <>
            <Layer width={w} height={height} when={[field, brushed]} draw={(pen) => (brushed ? lines(pen, w, order, token('--line'), alphaFor(order.length) * 0.8) : undefined)} />
            <Layer width={w} height={height} when={[field, p.mark, p.look]} draw={(pen) => {
              const list = order.filter((i) => p.mark[i]);
              return lines(pen, w, list, p.look.color, alphaFor(list.length));
            }} />
            <Layer width={w} height={height} when={[field, brush, p.hover, p.look, over]} draw={(pen) => {
              for (const [i, wide] of [[field.best, 2], [p.hover, 3]] as const) {
                if (i < 0 || (i === field.best && !p.mark[i] && i !== p.hover)) continue;
                pen.beginPath();
                pen.strokeStyle = token('--panel');
                pen.lineWidth = wide + 3;
                line(pen, w, i);
                pen.stroke();
                pen.beginPath();
                pen.strokeStyle = i === p.hover ? token('--text') : p.look.color(i);
                pen.lineWidth = wide;
                line(pen, w, i);
                pen.stroke();
              }
              field.axes.forEach((a, i) => drawAxis(pen, a, p.names(a), x(w, i), Math.min(110, (w - 2 * side) / Math.max(1, n - 1) - 10), y, brush[a.name], over === i));
            }} />
          </>
        );
      }}
    </Stage>
  );
}

export function without(b: Brush, name: string): Brush {
  const { [name]: _, ...rest } = b;
  return rest;
}

const alphaFor = (n: number): number => Math.min(0.9, Math.max(0.12, 9 / Math.sqrt(n || 1)));

// byRank lists the rows so that the best are drawn last, over all others.
export function byRank(f: Field): number[] {
  return f.rows.map((_, i) => i).sort((a, b) => (Number.isNaN(f.rank[a]!) ? 2 : f.rank[a]!) < (Number.isNaN(f.rank[b]!) ? 2 : f.rank[b]!) ? 1 : -1);
}

// nearest is the chosen row whose line is closest to a place, within a few pixels.
function nearest(f: Field, mark: Uint8Array, px: number, py: number, x: (a: number) => number, y: (v: number) => number): number {
  const n = f.axes.length;
  let a = 0;
  while (a < n - 2 && px > x(a + 1)) a++;
  if (n < 2 || px < x(0) || px > x(n - 1)) return -1;
  const t = (px - x(a)) / (x(a + 1) - x(a));
  const left = f.at[a]!, right = f.at[a + 1]!;
  let best = -1, least = 8;
  for (let i = 0; i < mark.length; i++) {
    if (!mark[i]) continue;
    const u = left[i]!, v = right[i]!;
    if (Number.isNaN(u) || Number.isNaN(v)) continue;
    const d = Math.abs(y(u + t * (v - u)) - py);
    if (d < least) [best, least] = [i, d];
  }
  return best;
}

function drawAxis(pen: Pen, a: Axis, name: string, x: number, room: number, y: (v: number) => number, brush: Brush[string] | undefined, over: boolean) {
  pen.textBaseline = 'middle';
  pen.lineWidth = over ? 2 : 1;
  pen.strokeStyle = token(over ? '--accent' : '--faint');
  pen.beginPath();
  pen.moveTo(x, y(1));
  pen.lineTo(x, y(0));
  pen.stroke();
  pen.textAlign = 'center';
  pen.font = `600 12px ${token('--sans')}`;
  pen.fillStyle = token('--text');
  pen.fillText(fit(pen, name, Math.max(60, room)), x, 14);
  pen.font = `11px ${token('--sans')}`;
  pen.textAlign = 'left';
  const panel = token('--panel'), muted = token('--muted');
  const text = (t: string, at: number) => {
    const shown = fit(pen, t, 74);
    const w = pen.measureText(shown).width;
    pen.globalAlpha = 0.78;
    pen.fillStyle = panel;
    pen.fillRect(x + 5, y(at) - 7, w + 4, 14);
    pen.globalAlpha = 1;
    pen.fillStyle = muted;
    pen.fillText(shown, x + 7, y(at));
  };
  if (a.kind === 'category') {
    const each = Math.ceil(a.values.length / 18);
    a.values.forEach((v, i) => i % each === 0 && text(v, place(a, v)));
  } else {
    for (const t of ticks(a, 6)) text(number(t.value) + (a.clipped && t.at >= 1 ? '+' : ''), t.at);
  }
  if (!brush) return;
  pen.fillStyle = token('--accent');
  pen.globalAlpha = 0.3;
  const places = (brush as unknown[]).map((v) => place(a, v)).filter((v) => !Number.isNaN(v));
  if (a.kind === 'category') for (const v of places) pen.fillRect(x - 6, y(v) - 8, 12, 16);
  else if (places.length === 2) {
    const high = y(Math.max(...places)), low = y(Math.min(...places));
    pen.fillRect(x - 6, high, 12, Math.max(2, low - high));
    pen.globalAlpha = 1;
    pen.strokeStyle = token('--accent');
    pen.lineWidth = 1.5;
    pen.strokeRect(x - 6, high, 12, Math.max(2, low - high));
  }
  pen.globalAlpha = 1;
}

// axisName is what a person calls an axis.
export const axisName = (metric: string) => (a: Axis): string => (a.name === metricAxis ? metric : a.name === lengthAxis ? 'batches' : a.name);
