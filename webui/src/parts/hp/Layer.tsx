// Canvases in layers: what seldom changes is drawn once, and what follows the mouse is drawn over it.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { theme } from '../../lib/theme';

export type Pen = CanvasRenderingContext2D;

interface StageProps {
  height: number;
  least?: number; // width; a narrower place scrolls
  label: string;
  children: (width: number) => ComponentChildren;
  onDown?: (x: number, y: number, e: PointerEvent) => void;
  onMove?: (x: number, y: number, e: PointerEvent) => void;
  onUp?: (x: number, y: number, e: PointerEvent) => void;
  onLeave?: () => void;
  cursor?: string;
}

// Stage is a box of a given height that tells its layers how wide it is, and where the mouse is.
export function Stage(p: StageProps) {
  const box = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(0);
  useEffect(() => {
    const el = box.current;
    if (!el) return;
    const watch = new ResizeObserver(() => setRoom(el.clientWidth));
    watch.observe(el);
    setRoom(el.clientWidth);
    return () => watch.disconnect();
  }, []);
  const width = Math.max(room, p.least ?? 0);
  const at = (fn: StageProps['onMove']) => (fn ? (e: PointerEvent) => {
    const r = (e.currentTarget as Element).getBoundingClientRect();
    fn(e.clientX - r.left, e.clientY - r.top, e);
  } : undefined);
  const down = at(p.onDown);
  return (
    <div ref={box} class={`stage${width > room ? ' wide' : ''}`} tabIndex={width > room ? 0 : undefined} role={width > room ? 'group' : undefined} aria-label={width > room ? p.label : undefined}>
      <div role="img" aria-label={p.label} style={{ position: 'relative', height: `${p.height}px`, width: width > room ? `${width}px` : '100%', cursor: p.cursor ?? 'default', touchAction: p.onDown ? 'pan-x pan-y' : undefined }}
        onPointerDown={down && ((e: PointerEvent) => {
          (e.currentTarget as Element).setPointerCapture(e.pointerId);
          down(e);
        })}
        onPointerMove={at(p.onMove)} onPointerUp={at(p.onUp)} onPointerLeave={p.onLeave}>
        {width > 0 && p.children(width)}
      </div>
    </div>
  );
}

interface LayerProps {
  width: number;
  height: number;
  draw: (pen: Pen) => (() => void) | void; // returns what stops a drawing in steps
  when: readonly unknown[];
}

export function Layer({ width, height, draw, when }: LayerProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const colors = theme.value; // a new theme redraws
  useLayoutEffect(() => {
    const el = canvas.current;
    const pen = el?.getContext('2d');
    if (!el || !pen) return;
    const dense = Math.min(2, window.devicePixelRatio || 1);
    const w = Math.round(width * dense), h = Math.round(height * dense);
    if (el.width !== w || el.height !== h) {
      el.width = w;
      el.height = h;
    }
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.clearRect(0, 0, width, height);
    return draw(pen) ?? undefined;
  }, [width, height, colors, ...when]);
  return <canvas ref={canvas} aria-hidden="true" style={{ position: 'absolute', inset: 0, width: `${width}px`, height: `${height}px`, pointerEvents: 'none' }} />;
}

// inSteps calls work for lots of a long list, one lot in a frame, the first one at once: the page
// answers the mouse meanwhile.
export function inSteps(count: number, first: number, lot: number, work: (from: number, to: number) => void, done?: () => void): () => void {
  let at = 0;
  let frame = 0;
  const step = () => {
    const to = Math.min(count, at + (at ? lot : first));
    work(at, to);
    at = to;
    if (at < count) frame = requestAnimationFrame(step);
    else done?.();
  };
  step();
  return () => cancelAnimationFrame(frame);
}

// fit cuts a text to a width.
export function fit(pen: Pen, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text;
  let n = text.length;
  while (n > 1 && pen.measureText(`${text.slice(0, n)}…`).width > width) n--;
  return `${text.slice(0, n)}…`;
}
