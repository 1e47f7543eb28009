// A table for lists of any length: rows of one height, of which only those on the
// screen exist; order, columns and selection; the keyboard as well as the mouse.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { fit, moved, readColumns, shifted, writeColumns, type Chosen } from '../lib/columns';
import { inOrder } from '../lib/order';
import { params, setParams } from '../lib/router';
import { keep, settings } from '../lib/settings';
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
  below?: ComponentChildren; // under the tools
  fit?: boolean; // as high as its rows
  tall?: boolean; // rows have room for two lines
  prefix?: string; // of its parameters in the address, on a page with several tables
}

const low = 36;
const tall = 50; // for rows with a sentence in them
const fewRows = 16;
const rem = 16; // pixels
const nearly = 1.12;
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
  return rows.slice().sort((a, b) => inOrder(by(a), by(b), sort.desc));
}

// A shown column, as wide as somebody made it.
interface Shown<T> {
  column: Column<T>;
  px: number | undefined;
}

// chosen columns: what the address says, else what was chosen last, else those that are not hidden.
// A small screen has its own few, unless the address names others.
function chosen<T>(label: string, columns: Column<T>[], narrow: boolean, prefix: string): Shown<T>[] {
  const wanted = readColumns(params.value.get(`${prefix}cols`) ?? (narrow ? null : recall(label)));
  const list = wanted.flatMap(({ key, width }) => {
    const column = columns.find((c) => c.key === key);
    return column ? [{ column, px: width }] : [];
  });
  if (list.length) return list;
  return columns.filter((c) => (narrow ? c.narrow : !c.hidden)).map((column) => ({ column, px: undefined }));
}

const remembered = (label: string) => `cols.${label}`;

function recall(label: string): string | null {
  const kept = settings.value;
  if (kept) return kept[remembered(label)] ?? null;
  try {
    return localStorage.getItem(`detent.${remembered(label)}`);
  } catch {
    return null;
  }
}

// choose shows columns, and stores the choice here and on the server; no columns means the default ones.
function choose(label: string, list: readonly Chosen[], prefix: string): void {
  const text = writeColumns(list);
  setParams({ [`${prefix}cols`]: text });
  keep(remembered(label), text);
  try {
    if (text) localStorage.setItem(`detent.${remembered(label)}`, text);
    else localStorage.removeItem(`detent.${remembered(label)}`);
  } catch {
    // the address and the server have it
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
  const [width, setWidth] = useState(0);
  const [active, setActive] = useState(-1);
  const rowHeight = p.tall ? tall : low;
  const prefix = p.prefix ?? '';
  const narrow = useNarrow();
  const shown = chosen(p.label, p.columns, narrow, prefix);
  const columns = shown.map((c) => c.column);
  const [sizing, setSizing] = useState<{ key: string; px: number } | null>(null);
  const [dragged, setDragged] = useState('');
  const widthOf = (c: Shown<T>) => (sizing?.key === c.column.key ? sizing.px : c.px);
  const asChosen = () => shown.map((c): Chosen => (c.px ? { key: c.column.key, width: c.px } : { key: c.column.key }));
  const resize = (key: string, px: number) => choose(p.label, asChosen().map((c) => (c.key === key ? { key, width: fit(px) } : c)), prefix);
  const w = visible(p.count, rowHeight, scroll, height);
  const least = shown.map((c) => (widthOf(c) ? `${widthOf(c)}px` : c.column.width.match(/[\d.]+rem/)?.[0] ?? '0rem'));
  // A small screen squeezes columns that nearly fit, rather than to cut the last one.
  const room = rem * ((p.onSelect ? 2.25 : 0) + least.reduce((sum, l) => sum + parseFloat(l), 0)) + 14;
  const squeezed = narrow && width > 0 && room > width && room <= width * nearly && shown.every((c) => !widthOf(c));
  const grid = squeezed ? { gridTemplateColumns: (p.onSelect ? '2.25rem ' : '') + least.map((l) => `minmax(0, ${parseFloat(l)}fr)`).join(' ') } : { gridTemplateColumns: (p.onSelect ? '2.25rem ' : '') + shown.map((c) => (widthOf(c) ? `${widthOf(c)}px` : c.column.width)).join(' '), minWidth: `calc(${[p.onSelect ? '2.25rem' : '0rem', ...least].join(' + ')} + 14px)` };

  useEffect(() => {
    const el = box.current;
    if (!el) return;
    const watch = new ResizeObserver(() => {
      setHeight(el.clientHeight);
      setWidth(el.clientWidth);
    });
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
  // The edge of a column's head is drawn with the pointer, or moved with the arrow keys.
  const edge = (e: PointerEvent, key: string) => {
    const head = (e.currentTarget as HTMLElement).parentElement!;
    const from = e.clientX, width = head.getBoundingClientRect().width;
    const move = (m: PointerEvent) => setSizing({ key, px: fit(width + m.clientX - from) });
    const up = (m: PointerEvent) => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', up);
      removeEventListener('pointercancel', up);
      setSizing(null);
      if (m.type === 'pointerup' && Math.abs(m.clientX - from) > 2) resize(key, width + m.clientX - from);
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', up);
    addEventListener('pointercancel', up);
    e.preventDefault();
    e.stopPropagation();
  };
  const wider = (key: string, by: number) => {
    const head = box.current?.querySelector(`[data-column="${CSS.escape(key)}"]`);
    if (head) resize(key, head.getBoundingClientRect().width + by);
  };
  const order = (c: Column<T>) => setParams({ [`${prefix}sort`]: p.sort.key === c.key ? (p.sort.desc ? c.key : `-${c.key}`) : c.key });

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
        <Menu label="Columns" title="choose columns">
          {() => (
            <>
              {[...columns, ...p.columns.filter((c) => !columns.includes(c))].map((c) => {
                const on = columns.includes(c);
                const name = c.title.trim() || 'Actions';
                return (
                  <div key={c.key} class="row pick">
                    <label class="choice grow">
                      <input type="checkbox" checked={on} onChange={() => {
                        const next = on ? asChosen().filter((x) => x.key !== c.key) : [...asChosen(), { key: c.key }];
                        if (next.length) choose(p.label, next, prefix);
                      }} /> {name}
                    </label>
                    {on && <button type="button" class="quiet" aria-label={`${name}: narrower`} onClick={() => wider(c.key, -24)}>−</button>}
                    {on && <button type="button" class="quiet" aria-label={`${name}: wider`} onClick={() => wider(c.key, 24)}>+</button>}
                    {on && <button type="button" class="quiet" aria-label={`${name}: one to the left`} disabled={c === columns[0]} onClick={() => choose(p.label, shifted(asChosen(), c.key, -1), prefix)}>↑</button>}
                    {on && <button type="button" class="quiet" aria-label={`${name}: one to the right`} disabled={c === columns.at(-1)} onClick={() => choose(p.label, shifted(asChosen(), c.key, 1), prefix)}>↓</button>}
                  </div>
                );
              })}
              <button type="button" class="item" onClick={() => choose(p.label, [], prefix)}>Default columns</button>
            </>
          )}
        </Menu>
      </div>
      {p.below}
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
            <span key={c.key} role="columnheader" data-column={c.key} class={`td${c.right ? ' right' : ''}${dragged && dragged !== c.key ? ' drop' : ''}`} draggable={!sizing}
              onDragStart={(e) => { setDragged(c.key); e.dataTransfer?.setData('text/plain', c.key); }} onDragEnd={() => setDragged('')}
              onDragOver={(e) => dragged && e.preventDefault()} onDrop={(e) => { e.preventDefault(); setDragged(''); if (dragged) choose(p.label, moved(asChosen(), dragged, c.key), prefix); }} aria-sort={p.sort.key === c.key ? (p.sort.desc ? 'descending' : 'ascending') : undefined}>
              {c.sort ? <button type="button" title={c.title} onClick={() => order(c)}>{c.title}</button> : c.title.trim() || <span class="unseen">actions</span>}
              <span class="edge" aria-hidden="true" onPointerDown={(e) => edge(e, c.key)} />
            </span>
          ))}
        </div>
        {p.count === 0 ? <div class="none" role="row" aria-rowindex={2}><div role="gridcell">{p.empty}</div></div> : <div class="body" style={{ height: `${w.total}px` }}><div style={{ transform: `translateY(${w.above}px)` }}>{rows}</div></div>}
      </div>
    </div>
  );
}
