// A curve chart on uPlot: redrawn when the theme changes, smoothed, logarithmic where
// wanted, zoomed with the mouse; what the zoom shows is then read raw.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { align, smooth } from '../lib/series';
import { theme, token } from '../lib/theme';
import { compact, metric } from '../lib/format';

export interface Drawn {
  label: string;
  color: number; // 1 to 8, of the style sheet
  dash?: 'long' | 'short';
  strong?: boolean; // stands out among many
  x: number[];
  y: (number | null)[];
}

interface Props {
  id: string;
  title: string;
  series: Drawn[];
  time: boolean; // the x axis: seconds, or steps
  across?: string; // what the x axis counts, if not batches
  log: boolean;
  smoothing: number;
  height: number;
  zoom: [number, number] | null;
  onZoom: (range: [number, number] | null) => void;
  onPick?: (series: number) => void; // somebody clicked on a line
}

// What tests and curious people look at: the charts of this page.
declare global {
  interface Window {
    __charts?: Record<string, uPlot>;
  }
}

const rawAlpha = '40'; // the unsmoothed curve behind the smoothed one
const fewPoints = 60; // up to here points are marked
const fewLines = 8; // up to here a legend names the lines; beyond, pointing at one does
const reach = 24; // pixels from a line at which it is pointed at

export function Chart(p: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const name = useRef<HTMLSpanElement>(null);
  const latest = useRef(p);
  latest.current = p;
  const shape = JSON.stringify([p.time, p.log, p.smoothing > 0, p.series.map((s) => [s.label, s.color, s.dash, s.strong])]);

  useEffect(() => {
    const el = box.current;
    if (!el) return;
    const make = () => {
      plot.current?.destroy();
      const u = new uPlot(options(latest.current, el.clientWidth, latest, (text) => name.current && (name.current.textContent = text)), data(latest.current), el);
      plot.current = u;
      (window.__charts ??= {})[p.id] = u;
    };
    make();
    const resize = new ResizeObserver(() => {
      if (plot.current && el.clientWidth !== plot.current.width) plot.current.setSize({ width: el.clientWidth, height: latest.current.height });
    });
    resize.observe(el);
    let first = true;
    const themed = theme.subscribe(() => {
      if (!first) requestAnimationFrame(make); // the style sheet has the new colours by then
      first = false;
    });
    return () => {
      themed();
      resize.disconnect();
      plot.current?.destroy();
      plot.current = null;
      delete window.__charts?.[p.id];
    };
  }, [p.id, shape, p.height]);

  useEffect(() => {
    const u = plot.current;
    if (!u) return;
    u.batch(() => {
      u.setData(data(p), false);
      u.setScale('x', range(p));
    });
    (u.setLegend as () => void)(); // new points are no reason for it
  }, [p.series, p.smoothing, p.zoom, p.time]);

  return (
    <>
      <span ref={name} class="picked" aria-hidden="true" />
      <div ref={box} class="plot" role="img" aria-label={describe(p)} />
    </>
  );
}

// describe says in words what a curve shows, for those who do not see it.
function describe(p: Props): string {
  const parts = p.series.map((s) => {
    const known = s.y.filter((v): v is number => v !== null);
    return known.length ? `${s.label}: ${known.length} points, last ${metric(known[known.length - 1])}` : `${s.label}: no points yet`;
  });
  return `${p.title}. ${parts.join('; ')}`;
}

function range(p: Props): { min: number; max: number } {
  if (p.zoom) return { min: p.zoom[0], max: p.zoom[1] };
  let min = Infinity, max = -Infinity;
  for (const s of p.series) {
    if (s.x.length) {
      min = Math.min(min, s.x[0]!);
      max = Math.max(max, s.x[s.x.length - 1]!);
    }
  }
  if (min > max) return { min: 0, max: 1 };
  return min === max ? { min: min - 1, max: max + 1 } : { min, max };
}

function data(p: Props): uPlot.AlignedData {
  const list = p.smoothing > 0
    ? [...p.series, ...p.series.map((s) => ({ ...s, y: smooth(s.y, p.smoothing) }))]
    : p.series;
  const positive = (y: (number | null)[]) => (p.log ? y.map((v) => (v !== null && v > 0 ? v : null)) : y);
  return align(list.map((s) => ({ x: s.x, y: positive(s.y) }))) as uPlot.AlignedData;
}

function options(p: Props, width: number, latest: { current: Props }, show: (text: string) => void): uPlot.Options {
  const many = p.series.length > fewLines;
  const named = many || (p.series.length > 1 && !!p.onPick); // the line that is pointed at stands out, and has its name above the chart
  let at: number | null = null; // the line that is pointed at
  const font = `11px ${token('--sans')}`;
  const axis = { stroke: token('--muted'), font, grid: { stroke: token('--grid'), width: 1 }, ticks: { stroke: token('--grid'), size: 4 } };
  const line = (s: Drawn, faint: boolean): uPlot.Series => {
    const stroke = token(`--curve-${s.color}`);
    return {
      label: s.label, ...(faint ? { class: 'raw' } : {}), stroke: faint ? stroke + rawAlpha : stroke, width: faint ? 1 : s.strong ? 3.25 : many ? 1.4 : 1.75, spanGaps: false,
      ...(s.dash ? { dash: s.dash === 'long' ? [6, 4] : [2, 3] } : {}),
      points: { show: !faint && !many && s.x.length <= fewPoints, size: 5, fill: stroke },
      value: (u, v, i, at) => metric((at === null ? lastOf(u.data[i]) : v) ?? undefined),
    };
  };
  const lines = p.series.map((s) => line(s, p.smoothing > 0));
  return {
    width: Math.max(width, 120),
    height: p.height,
    series: [{ label: p.time ? 'time' : p.across ?? 'batches', value: (u, at, i, idx) => ((v) => (v == null ? '–' : p.time ? new Date(v * 1000).toLocaleTimeString('en-GB') : v.toLocaleString('en')))(idx === null ? lastOf(u.data[i]) : at) },
      ...lines, ...(p.smoothing > 0 ? p.series.map((s) => line(s, false)) : [])],
    scales: { x: { time: p.time }, y: p.log ? { distr: 3 } : {} },
    axes: [{ ...axis, size: p.time ? 46 : 32, ...(p.time ? {} : { values: (_u: uPlot, v: number[]) => v.map(short) }) }, { ...axis, size: 54, values: (_u, v) => v.map((n) => (n === null ? '' : compact(n))) }],
    legend: {
      show: !many, live: true,
      markers: { width: 0, fill: (_u, i) => token(`--curve-${p.series[(i - 1) % p.series.length]?.color ?? 8}`) },
    },
    ...(named ? { focus: { alpha: 0.2 } } : {}),
    cursor: { ...(named ? { focus: { prox: reach } } : {}), drag: { x: true, y: false, setScale: false }, points: { size: 7 }, sync: { key: 'curves' } },
    hooks: {
      setSelect: [(u) => {
        if (u.select.width < 4) return;
        const from = u.posToVal(u.select.left, 'x'), to = u.posToVal(u.select.left + u.select.width, 'x');
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        latest.current.onZoom(latest.current.time ? [from, to] : [Math.max(0, Math.floor(from)), Math.ceil(to)]);
      }],
      setSeries: [(_u, i) => (at = i && i > 0 ? (i - 1) % p.series.length : null)],
      setCursor: [(u) => {
        if (!named) return;
        const i = u.cursor.idxs?.[(at ?? -1) + 1];
        const v = at === null || i === null || i === undefined ? undefined : u.data[at + 1]?.[i];
        show(at === null ? '' : `${p.series[at]?.label ?? ''}${v === null || v === undefined ? '' : ` ${metric(v)}`}`);
      }],
      ready: [(u) => {
        u.over.addEventListener('dblclick', () => latest.current.onZoom(null));
        u.over.addEventListener('click', () => at !== null && latest.current.onPick?.(at));
      }],
    },
  };
}

// lastOf is what the legend shows while nobody points at anything.
function lastOf(values: ArrayLike<number | null | undefined> | undefined): number | null {
  for (let i = (values?.length ?? 0) - 1; i >= 0; i--) {
    const v = values![i];
    if (v !== null && v !== undefined) return v;
  }
  return null;
}

function short(n: number): string {
  if (!Number.isInteger(n)) return '';
  if (n >= 1e6) return `${n / 1e6}M`;
  return n >= 10_000 ? `${n / 1e3}k` : String(n);
}
