// A small chart for each hyperparameter: its values, and the metric. A drag chooses a rectangle.
import { useMemo, useRef, useState } from 'preact/hooks';
import { metric as number, plural } from '../../lib/format';
import { brushOf, metricAxis, place, ticks, type Axis, type Brush, type Field } from '../../lib/hp';
import { token } from '../../lib/theme';
import { fit, Layer, Stage, type Pen } from './Layer';
import type { Look } from './look';
import { byRank } from './Parallel';

interface Props {
  field: Field;
  look: Look;
  mark: Uint8Array;
  brush: Brush;
  hover: number;
  onHover: (row: number) => void;
  onBrush: (b: Brush, done: boolean) => void;
  onPick: (row: number) => void;
}

const height = 190;
const pad = { left: 46, right: 10, top: 8, bottom: 24 };
const few = 8; // charts without asking

export function Scatter(p: Props) {
  const [all, setAll] = useState(false);
  const order = useMemo(() => byRank(p.field), [p.field]);
  const axes = p.field.axes.map((a, i) => ({ a, i })).filter(({ a }) => !a.name.startsWith(' '));
  const y = p.field.axes.findIndex((a) => a.name === metricAxis);
  return (
    <>
      <div class="scatters">
        {(all ? axes : axes.slice(0, few)).map(({ a, i }) => <One key={a.name} {...p} order={order} x={i} y={y} axis={a} />)}
      </div>
      {axes.length > few && !all && <button type="button" onClick={() => setAll(true)}>Show all {axes.length}</button>}
    </>
  );
}

function One(p: Props & { order: number[]; x: number; y: number; axis: Axis }) {
  const { field } = p;
  const ax = p.axis, ay = field.axes[p.y]!;
  const width = useRef(0);
  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  const [rect, setRect] = useState<[number, number, number, number] | null>(null);
  const wide = ax.kind === 'category' ? 1 / ax.values.length : 0; // equal values are beside each other
  const px = (w: number, v: number) => pad.left + 6 + (wide / 2 + v * (1 - wide)) * (w - pad.left - pad.right - 12);
  const py = (v: number) => pad.top + 5 + (1 - v) * (height - pad.top - pad.bottom - 10);
  const spot = (w: number, i: number): [number, number] => {
    const u = field.at[p.x]![i]!, v = field.at[p.y]![i]!;
    return [px(w, Number.isNaN(u) ? u : u + (wide && wide < 1 ? ((((field.rows[i]!.id * 0.618) % 1) - 0.5) * wide * 0.6) / (1 - wide) : 0)), py(v)];
  };
  const dots = (pen: Pen, w: number, marked: number, color: (i: number) => string) => {
    const r = p.order.length > 2000 ? 1.4 : p.order.length > 300 ? 2 : 2.8;
    pen.globalAlpha = p.order.length > 2000 ? 0.55 : 0.85;
    for (const i of p.order) {
      if (p.mark[i] !== marked) continue;
      const [x, y] = spot(w, i);
      if (Number.isNaN(x) || Number.isNaN(y)) continue;
      pen.fillStyle = color(i);
      if (r < 2) pen.fillRect(x - r, y - r, 2 * r, 2 * r);
      else {
        pen.beginPath();
        pen.arc(x, y, r, 0, 7);
        pen.fill();
      }
    }
    pen.globalAlpha = 1;
  };
  const find = (x: number, y: number) => {
    let best = -1, least = 100;
    for (let i = 0; i < field.rows.length; i++) {
      if (!p.mark[i]) continue;
      const [a, b] = spot(width.current, i);
      const d = (a - x) ** 2 + (b - y) ** 2;
      if (d < least) [best, least] = [i, d];
    }
    return best;
  };
  const brush = (x: number, y: number, done: boolean) => {
    const d = drag.current!;
    const u = (v: number) => ((v - pad.left - 6) / (width.current - pad.left - pad.right - 12) - wide / 2) / (1 - wide || 1);
    const v = (t: number) => 1 - (t - pad.top - 5) / (height - pad.top - pad.bottom - 10);
    const m = wide && wide < 1 ? (wide * 0.3) / (1 - wide) : 0; // a dot may be beside its value
    const cx = brushOf(ax, Math.min(u(d.x), u(x)) - m, Math.max(u(d.x), u(x)) + m);
    p.onBrush({ ...p.brush, [ax.name]: cx, [metricAxis]: brushOf(ay, v(d.y), v(y)) }, done);
  };
  return (
    <figure class="scatter">
      <figcaption title={ax.name}>{ax.name}</figcaption>
      <Stage height={height} label={`${ax.name} and the metric of ${plural(field.rows.length, 'trial')}`} cursor={p.hover >= 0 ? 'pointer' : 'crosshair'}
        onDown={(x, y, e) => {
          if (e.button === 0) drag.current = { x, y, moved: false };
        }}
        onMove={(x, y) => {
          const d = drag.current;
          if (!d) return p.onHover(find(x, y));
          if (Math.abs(x - d.x) + Math.abs(y - d.y) > 5) d.moved = true;
          if (d.moved) {
            setRect([d.x, d.y, x, y]);
            brush(x, y, false);
          }
        }}
        onUp={(x, y) => {
          const d = drag.current;
          if (d?.moved) brush(x, y, true);
          else {
            const row = find(x, y);
            if (row >= 0) p.onPick(row);
          }
          drag.current = null;
          setRect(null);
        }}
        onLeave={() => p.onHover(-1)}>
        {(w) => {
          width.current = w;
          return (
            <>
              <Layer width={w} height={height} when={[field, p.mark, p.look]} draw={(pen) => {
                axes(pen, w, ax, ay, (v) => px(w, v), py);
                const dim = token('--line');
                dots(pen, w, 0, () => dim);
                dots(pen, w, 1, p.look.color);
              }} />
              <Layer width={w} height={height} when={[field, p.hover, rect]} draw={(pen) => {
                if (p.hover >= 0) {
                  const [x, y] = spot(w, p.hover);
                  pen.beginPath();
                  pen.arc(x, y, 5, 0, 7);
                  pen.lineWidth = 2;
                  pen.strokeStyle = token('--text');
                  pen.stroke();
                }
                if (rect) {
                  pen.fillStyle = token('--accent');
                  pen.globalAlpha = 0.15;
                  pen.fillRect(rect[0], rect[1], rect[2] - rect[0], rect[3] - rect[1]);
                }
              }} />
            </>
          );
        }}
      </Stage>
    </figure>
  );
}

function axes(pen: Pen, w: number, ax: Axis, ay: Axis, px: (v: number) => number, py: (v: number) => number) {
  pen.font = `11px ${token('--sans')}`;
  pen.textBaseline = 'middle';
  pen.strokeStyle = token('--grid');
  pen.fillStyle = token('--muted');
  pen.lineWidth = 1;
  const across = (y: number) => {
    pen.beginPath();
    pen.moveTo(pad.left, Math.round(y) + 0.5);
    pen.lineTo(w - pad.right, Math.round(y) + 0.5);
    pen.stroke();
  };
  pen.textAlign = 'right';
  for (const t of ticks(ay, 4)) {
    across(py(t.at));
    pen.fillText(number(t.value), pad.left - 5, py(t.at));
  }
  pen.textAlign = 'center';
  const marks = ax.kind === 'category' ? ax.values.map((v) => ({ at: place(ax, v), text: v })) : ticks(ax, 3).map((t) => ({ at: t.at, text: number(t.value) }));
  const each = Math.max(1, Math.ceil((marks.length * 46) / (w - pad.left)));
  marks.forEach((m, i) => {
    if (i % each) return;
    const shown = fit(pen, m.text, (w - pad.left) / Math.ceil(marks.length / each));
    const half = pen.measureText(shown).width / 2;
    pen.fillText(shown, Math.min(w - half - 1, Math.max(half + 1, px(m.at))), height - pad.bottom + 13);
  });
}
