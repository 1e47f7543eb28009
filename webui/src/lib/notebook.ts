// Parses a Jupyter notebook to texts, code, and outputs that cannot run anything.

export type Output = { kind: 'text' | 'error'; text: string } | { kind: 'image'; source: string } | { kind: 'left'; what: string };

export interface Cell {
  kind: 'markdown' | 'code' | 'raw';
  source: string;
  count: number | null;
  outputs: Output[];
}

const maxCells = 2000;
const maxOutput = 200_000; // characters of one output
const pictures = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']); // no SVG: it can hold scripts

const joined = (v: unknown): string => (Array.isArray(v) ? v.filter((x) => typeof x === 'string').join('') : typeof v === 'string' ? v : '');

// read parses a notebook; null: the text is no notebook.
export function read(text: string): { cells: Cell[]; more: number } | null {
  let book: unknown;
  try {
    book = JSON.parse(text);
  } catch {
    return null;
  }
  const list = (book as { cells?: unknown } | null)?.cells;
  if (!Array.isArray(list)) return null;
  const cells = list.slice(0, maxCells).flatMap((c: unknown): Cell[] => {
    const cell = c as { cell_type?: unknown; source?: unknown; execution_count?: unknown; outputs?: unknown } | null;
    if (!cell || typeof cell !== 'object') return [];
    const kind = cell.cell_type === 'markdown' || cell.cell_type === 'raw' ? cell.cell_type : 'code';
    return [{ kind, source: joined(cell.source), count: typeof cell.execution_count === 'number' ? cell.execution_count : null, outputs: Array.isArray(cell.outputs) ? cell.outputs.flatMap(output) : [] }];
  });
  return { cells, more: Math.max(0, list.length - maxCells) };
}

function output(o: unknown): Output[] {
  const x = o as { output_type?: unknown; text?: unknown; data?: unknown; traceback?: unknown; ename?: unknown; evalue?: unknown } | null;
  if (!x || typeof x !== 'object') return [];
  const cut = (s: string) => (s.length > maxOutput ? `${s.slice(0, maxOutput)}…` : s);
  if (x.output_type === 'stream') return [{ kind: 'text', text: cut(joined(x.text)) }];
  if (x.output_type === 'error') {
    const trace = Array.isArray(x.traceback) ? x.traceback.filter((t) => typeof t === 'string').join('\n') : '';
    return [{ kind: 'error', text: cut(trace || `${String(x.ename)}: ${String(x.evalue)}`) }];
  }
  const data = (x.data ?? {}) as Record<string, unknown>;
  for (const [type, value] of Object.entries(data)) {
    const base64 = joined(value).replace(/\s/g, '');
    if (pictures.has(type) && /^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return [{ kind: 'image', source: `data:${type};base64,${base64}` }];
  }
  if (data['text/plain'] !== undefined) return [{ kind: 'text', text: cut(joined(data['text/plain'])) }];
  const types = Object.keys(data);
  return types.length ? [{ kind: 'left', what: types.join(', ').slice(0, 200) }] : [];
}
