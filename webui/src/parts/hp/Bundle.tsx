// The learning curves of all trials of a search in one chart, the best one on top.
import { useMemo, useRef } from 'preact/hooks';
import { metric as number, plural } from '../../lib/format';
import { axisOfValues, place, ticks, type Axis, type Field } from '../../lib/hp';
import type { Rung } from '../../lib/rungs';
import { token } from '../../lib/theme';
import { inSteps, Layer, Stage, type Pen } from './Layer';
import type { Look } from './look';
import { byRank } from './Parallel';

interface Props {
  field: Field;
  look: Look;
  mark: Uint8Array;
  count: number;
  metric: string;
  log: boolean;
  rungs: readonly Rung[];
  hover: number;
  onHover: (row: number) => void;
  onPick: (row: number) => void;
}

const height = 320;
const left = 58;
const right = 14;
const top = 12;
const bottom = 26;
const lot = 1500;

export function Bundle(p: Props) {
  const { field } = p;
  const order = useMemo(() => byRank(field), [field]);
  const [ax, ay] = useMemo((): [Axis, Axis] => {
    const last = field.rows.reduce((n, r) => Math.max(n, r.steps[r.steps.length - 1] ?? 0), 1);
    const first = field.rows.reduce((n, r) => Math.min(n, r.steps[0] ?? last), last);
    return [{ name: 'batches', kind: 'number', min: first === last ? 0 : Math.min(first, last * 0.05), max: last, values: [], clipped: false, whole: false }, axisOfValues(p.metric, sample(field), p.log)];
  }, [field, p.log, p.metric]);
  const brushed = p.count < field.rows.length;
  const width = useRef(0);
  const px = (w: number, step: number) => left + place(ax, step) * (w - left - right);
  const py = (v: number) => top + (1 - place(ay, v)) * (height - top - bottom);

  const line = (pen: Pen, w: number, i: number) => {
    const r = field.rows[i]!;
    let open = false;
    for (let k = 0; k < r.steps.length; k++) {
      const v = r.values[k];
      if (v === null || v === undefined || (p.log && v <= 0)) {
        open = false; // a gap stays a gap
        continue;
      }
      const x = px(w, r.steps[k]!), y = py(v);
      if (open) pen.lineTo(x, y);
      else pen.moveTo(x, y);
      open = true;
    }
    if (r.steps.length === 1 && open) pen.lineTo(px(w, r.steps[0]!) + 2, py(r.values[0]!));
  };
  const lines = (pen: Pen, w: number, list: number[], color: (i: number) => string, alpha: number) => inSteps(list.length, lot, lot, (from, to) => {
    pen.globalAlpha = alpha;
    pen.lineWidth = list.length > 300 ? 1 : 1.4;
    pen.lineJoin = 'round';
    for (let k = from; k < to; k++) {
      pen.beginPath();
      pen.strokeStyle = color(list[k]!);
      line(pen, w, list[k]!);
      pen.stroke();
    }
    pen.globalAlpha = 1;
  });
  const find = (x: number, y: number): number => {
    let best = -1, least = 12 * 12;
    for (let i = 0; i < field.rows.length; i++) {
      if (!p.mark[i]) continue;
      const r = field.rows[i]!;
      for (let k = 0; k < r.steps.length; k++) {
        const v = r.values[k];
        if (v === null || v === undefined) continue;
        const dx = px(width.current, r.steps[k]!) - x;
        if (dx > 12 || dx < -12) continue;
        const d = dx * dx + (py(v) - y) ** 2;
        if (d < least) [best, least] = [i, d];
      }
    }
    return best;
  };
  const shown = p.hover >= 0 ? field.rows[p.hover] : undefined;

  return (
    <>
      <Stage height={height} cursor={p.hover >= 0 ? 'pointer' : 'default'}
        label={`Learning curves of ${plural(p.count, 'trial')}: ${p.metric} over batches.${field.best >= 0 ? ` The best is ${number(field.rows[field.best]!.value)}, of trial ${field.rows[field.best]!.id}.` : ''}`}
        onMove={(x, y) => p.onHover(find(x, y))} onLeave={() => p.onHover(-1)} onUp={(x, y) => {
          const row = find(x, y);
          if (row >= 0) p.onPick(row);
        }}>
        {(w) => {
          width.current = w;
          return (
            <>
              <Layer width={w} height={height} when={[field, brushed, ay]} draw={(pen) => {
                frame(pen, w, ax, ay);
                pen.setLineDash([3, 4]);
                pen.strokeStyle = token('--faint');
                for (const g of p.rungs.slice(0, -1)) {
                  pen.beginPath();
                  pen.moveTo(px(w, g.length), top);
                  pen.lineTo(px(w, g.length), height - bottom);
                  pen.stroke();
                }
                pen.setLineDash([]);
                return brushed ? lines(pen, w, order, () => token('--line'), Math.min(0.9, 12 / Math.sqrt(order.length))) : undefined;
              }} />
              <Layer width={w} height={height} when={[field, p.mark, p.look, ay]} draw={(pen) => {
                const list = order.filter((i) => p.mark[i]);
                return lines(pen, w, list, p.look.color, Math.min(0.95, Math.max(0.14, 10 / Math.sqrt(list.length))));
              }} />
              <Layer width={w} height={height} when={[field, p.mark, p.hover, p.look, ay]} draw={(pen) => {
                for (const i of new Set([field.best, p.hover])) {
                  if (i < 0 || !p.mark[i]) continue;
                  for (const [color, wide] of [[token('--panel'), 6], [i === p.hover ? token('--text') : p.look.color(i), 2.6]] as const) {
                    pen.beginPath();
                    pen.strokeStyle = color;
                    pen.lineWidth = wide;
                    pen.lineJoin = 'round';
                    line(pen, w, i);
                    pen.stroke();
                  }
                }
              }} />
            </>
          );
        }}
      </Stage>
      <p class="hint" aria-hidden="true">
        {shown ? <>trial <b>{shown.id}</b>: {p.metric} <b>{number(shown.value)}</b> after {shown.batches.toLocaleString('en')} batches{shown.state !== 'COMPLETED' ? `, ${shown.state.toLowerCase()}` : ''}</>
          : field.best >= 0 ? <>best: trial <b>{field.rows[field.best]!.id}</b> with <b>{number(field.rows[field.best]!.value)}</b>{ay.clipped ? '; values far out are drawn at the edge' : ''}</> : ' '}
      </p>
    </>
  );
}

// sample has the values that decide the axis: of very many points, each so manieth.
function sample(f: Field): number[] {
  const total = f.rows.reduce((n, r) => n + r.values.length, 0);
  const each = Math.max(1, Math.floor(total / 20_000));
  const out: number[] = [];
  let n = 0;
  for (const r of f.rows) for (const v of r.values) if (n++ % each === 0 && v !== null) out.push(v);
  return out;
}

// frame draws both axes with their numbers.
export function frame(pen: Pen, w: number, ax: Axis, ay: Axis, h = height, pad = { left, right, top, bottom }) {
  pen.font = `11px ${token('--sans')}`;
  pen.lineWidth = 1;
  pen.textBaseline = 'middle';
  const grid = token('--grid'), muted = token('--muted');
  pen.textAlign = 'right';
  for (const t of ticks(ay, Math.floor((h - pad.top - pad.bottom) / 40))) {
    const y = Math.round(pad.top + (1 - t.at) * (h - pad.top - pad.bottom)) + 0.5;
    pen.strokeStyle = grid;
    pen.beginPath();
    pen.moveTo(pad.left, y);
    pen.lineTo(w - pad.right, y);
    pen.stroke();
    pen.fillStyle = muted;
    pen.fillText(number(t.value), pad.left - 6, y);
  }
  pen.textAlign = 'center';
  for (const t of ticks(ax, Math.floor((w - pad.left - pad.right) / 84))) {
    const x = Math.round(pad.left + t.at * (w - pad.left - pad.right)) + 0.5;
    pen.strokeStyle = grid;
    pen.beginPath();
    pen.moveTo(x, pad.top);
    pen.lineTo(x, h - pad.bottom);
    pen.stroke();
    pen.fillStyle = muted;
    const text = t.value >= 10_000 && t.value % 100 === 0 ? `${t.value / 1000}k` : number(t.value);
    pen.fillText(text, Math.min(x, w - 4 - pen.measureText(text).width / 2), h - pad.bottom + 12);
  }
}

