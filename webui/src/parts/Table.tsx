// A table for lists of any length: rows of one height, of which only those on the
// screen exist; order, columns and selection; the keyboard as well as the mouse.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { params, setParams } from '../lib/router';
import { reveal, visible } from '../lib/window';
import { Menu } from './bits';

export interface Column<T> {
  key: string;
  title: string;
  width: string; // of a grid's column
  render: (row: T) => ComponentChildren;
  sort?: string | ((row: T) => string | number); // what the master sorts by, or the value to sort by here
  right?: boolean;
  hidden?: boolean; // until somebody asks for it
  narrow?: boolean; // shown on small screens too
}

export interface Sort {
  key: string;
  desc: boolean;
}

interface Props<T> {
  label: string;
  columns: Column<T>[];
  count: number;
  row: (i: number) => T | undefined; // undefined: not read yet
  onRange?: (first: number, last: number) => void;
  id: (row: T) => string;
  href?: (row: T) => string;
  open?: (row: T) => void;
  sort: Sort;
  empty: ComponentChildren;
  marked?: (row: T) => boolean;
  selected?: ReadonlySet<string>;
  onSelect?: (ids: ReadonlySet<string>) => void;
  tools?: ComponentChildren;
  fit?: boolean; // as high as its rows
  tall?: boolean; // rows have room for two lines
}

const low = 36;
const tall = 50; // for rows with a sentence in them
const fewRows = 16;
const narrowScreen = '(max-width: 720px)';

// sortOf reads a table's order from the address: sort=-started.
export function sortOf(fallback: Sort, name = 'sort'): Sort {
  const v = params.value.get(name);
  return v ? { key: v.replace(/^-/, ''), desc: v.startsWith('-') } : fallback;
}

// sorted orders rows that are all here, by the columns' values.
export function sorted<T>(rows: readonly T[], columns: Column<T>[], sort: Sort): T[] {
  const by = columns.find((c) => c.key === sort.key)?.sort;
  if (typeof by !== 'function') return rows.slice();
  return rows.slice().sort((a, b) => {
    const x = by(a), y = by(b);
    const n = typeof x === 'number' && typeof y === 'number' ? (Number.isNaN(x) ? 1 : Number.isNaN(y) ? -1 : x - y) : String(x).localeCompare(String(y), 'en', { numeric: true });
    return sort.desc ? -n : n;
  });
}

// chosen columns: what the address says, else what was chosen last, else those that are not hidden.
function chosen<T>(label: string, columns: Column<T>[], narrow: boolean): Column<T>[] {
  const wanted = params.value.get('cols') ?? recall(label);
  if (wanted) {
    const keys = wanted.split(',');
    const list = columns.filter((c) => keys.includes(c.key));
    if (list.length) return list;
  }
  return columns.filter((c) => (narrow ? c.narrow : !c.hidden));
}

function recall(label: string): string | null {
  try {
    return localStorage.getItem(`detent.cols.${label}`);
  } catch {
    return null;
  }
}

function choose(label: string, keys: string[]): void {
  setParams({ cols: keys.join(',') });
  try {
    localStorage.setItem(`detent.cols.${label}`, keys.join(','));
  } catch {
    // the address has it
  }
}

function useNarrow(): boolean {
  const query = useMemo(() => matchMedia(narrowScreen), []);
  const [narrow, set] = useState(query.matches);
  useEffect(() => {
    const change = () => set(query.matches);
    query.addEventListener('change', change);
    return () => query.removeEventListener('change', change);
  }, [query]);
  return narrow;
}

export function Table<T>(p: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState(0);
  const [height, setHeight] = useState(600);
  const [active, setActive] = useState(-1);
  const rowHeight = p.tall ? tall : low;
  const columns = chosen(p.label, p.columns, useNarrow());
  const w = visible(p.count, rowHeight, scroll, height);
  const least = columns.map((c) => c.width.match(/[\d.]+rem/)?.[0] ?? '0rem');
  const grid = { gridTemplateColumns: (p.onSelect ? '2.25rem ' : '') + columns.map((c) => c.width).join(' '), minWidth: `calc(${[p.onSelect ? '2.25rem' : '0rem', ...least].join(' + ')} + 14px)` };

  useEffect(() => {
    const el = box.current;
    if (!el) return;
    const watch = new ResizeObserver(() => setHeight(el.clientHeight));
    watch.observe(el);
    return () => watch.disconnect();
  }, []);
  useEffect(() => p.onRange?.(w.first, w.last), [w.first, w.last, p.onRange]);
  useEffect(() => {
    if (active >= p.count) setActive(p.count - 1);
  }, [p.count]);

  const move = (to: number) => {
    const i = Math.max(0, Math.min(p.count - 1, to));
    setActive(i);
    const el = box.current;
    const y = el && reveal(i, rowHeight, el.scrollTop, el.clientHeight - low);
    if (el && y !== null) el.scrollTop = y;
  };
  const toggle = (row: T) => {
    const next = new Set(p.selected);
    if (!next.delete(p.id(row))) next.add(p.id(row));
    p.onSelect?.(next);
  };
  const keys = (e: KeyboardEvent) => {
    if ((e.target as Element).closest('button, input, a') && e.key !== 'ArrowDown' && e.key !== 'ArrowUp') return;
    const lot = Math.max(1, Math.floor(height / rowHeight) - 2);
    const to: Record<string, number> = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + lot, PageUp: active - lot, Home: 0, End: p.count - 1 };
    const row = active >= 0 ? p.row(active) : undefined;
    if (e.key in to) move(to[e.key]!);
    else if (e.key === 'Enter' && row) p.open?.(row);
    else if (e.key === ' ' && row && p.onSelect) toggle(row);
    else return;
    e.preventDefault();
  };
  const order = (c: Column<T>) => setParams({ sort: p.sort.key === c.key ? (p.sort.desc ? c.key : `-${c.key}`) : c.key });

  const rows: ComponentChildren[] = [];
  for (let i = w.first; i < w.last; i++) {
    const row = p.row(i);
    rows.push(
      <div key={row ? p.id(row) : `?${i}`} id={`${p.label}-${i}`} role="row" aria-rowindex={i + 2}
        class={`tr${i === active ? ' active' : ''}${row && p.marked?.(row) ? ' marked' : ''}`} style={grid}
        aria-selected={row && p.selected ? p.selected.has(p.id(row)) : undefined}
        onClick={(e) => {
          setActive(i);
          if (row && p.open && !(e.target as Element).closest('a, button, input')) p.open(row);
        }}>
        {p.onSelect && (
          <span role="gridcell" class="td">
            <input type="checkbox" aria-label={`select ${row ? p.id(row) : ''}`} checked={!!row && !!p.selected?.has(p.id(row))} disabled={!row} onChange={() => row && toggle(row)} />
          </span>
        )}
        {columns.map((c) => <span key={c.key} role="gridcell" class={`td${c.right ? ' right' : ''}`}>{row ? c.render(row) : <span class="ghost" />}</span>)}
      </div>,
    );
  }
  const all = p.onSelect && p.selected && p.count > 0 && p.selected.size >= p.count;
  return (
    <div class="table">
      <div class="tools">
        {p.tools}
        <span class="grow" />
        <Menu label="Columns" title="choose columns">
          {() => p.columns.map((c) => (
            <label key={c.key} class="choice">
              <input type="checkbox" checked={columns.includes(c)} onChange={() => {
                const next = p.columns.filter((x) => (x === c ? !columns.includes(c) : columns.includes(x)));
                if (next.length) choose(p.label, next.map((x) => x.key));
              }} /> {c.title}
            </label>
          ))}
        </Menu>
      </div>
      <div ref={box} class={`rows${p.fit ? ' fit' : ''}`} role="grid" aria-label={p.label} aria-rowcount={p.count + 1} tabIndex={0} onKeyDown={keys}
        aria-activedescendant={active >= 0 ? `${p.label}-${active}` : undefined} aria-multiselectable={!!p.onSelect}
        style={{ '--row': `${rowHeight}px`, ...(p.fit && p.count ? { height: `${Math.min(p.count, fewRows) * rowHeight + low + 2}px` } : {}) }}
        onScroll={(e) => setScroll((e.currentTarget as HTMLElement).scrollTop)}>
        <div role="row" aria-rowindex={1} class="tr th" style={grid}>
          {p.onSelect && (
            <span role="columnheader" class="td">
              <input type="checkbox" aria-label="select all that are loaded" checked={!!all} onChange={() => {
                const ids = new Set<string>();
                if (!all) for (let i = 0; i < p.count; i++) { const r = p.row(i); if (r) ids.add(p.id(r)); }
                p.onSelect?.(ids);
              }} />
            </span>
          )}
          {columns.map((c) => (
            <span key={c.key} role="columnheader" class={`td${c.right ? ' right' : ''}`} aria-sort={p.sort.key === c.key ? (p.sort.desc ? 'descending' : 'ascending') : undefined}>
              {c.sort ? <button type="button" title={c.title} onClick={() => order(c)}>{c.title}</button> : c.title}
            </span>
          ))}
        </div>
        {p.count === 0 ? <div class="none">{p.empty}</div> : <div class="body" style={{ height: `${w.total}px` }}><div style={{ transform: `translateY(${w.above}px)` }}>{rows}</div></div>}
      </div>
    </div>
  );
}
