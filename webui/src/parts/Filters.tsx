// The filter of a list as rows to choose from: the line above shows the same thing.
import { useLayoutEffect, useState } from 'preact/hooks';
import { call } from '../lib/api';
import { useLoad } from '../lib/load';
import { listProjectColumns, type ProjectColumn } from '../lib/types';
import { columnOf, isGroup, lineOf, many, ops, parse, unary, type Condition, type Group, type Node, type Op } from '../lib/where';

const names: Record<Op, string> = {
  '=': 'is', '!=': 'is not', '<': 'is less than', '<=': 'is at most', '>': 'is more than', '>=': 'is at least', '~': 'contains', '!~': 'does not contain',
  in: 'is one of', 'not in': 'is none of', 'is empty': 'is empty', 'is not empty': 'is not empty',
};
const byType: Record<string, Op[]> = {
  number: ['=', '!=', '<', '<=', '>', '>=', 'in', 'not in', 'is empty', 'is not empty'],
  date: ['<', '<=', '>', '>=', '=', 'is empty', 'is not empty'],
  text: ['=', '!=', '~', '!~', 'in', 'not in', 'is empty', 'is not empty'],
};
const own: [string, string][] = [['name', 'text'], ['state', 'text'], ['label', 'text'], ['user', 'text'], ['project', 'text'], ['workspace', 'text'], ['started', 'date'], ['ended', 'date'], ['duration', 'number'], ['metric', 'number'], ['trials', 'number'], ['progress', 'number'], ['searcher', 'text'], ['pool', 'text'], ['description', 'text'], ['id', 'number'], ['checkpoints', 'number'], ['template', 'text'], ['parent', 'number']];
const same: Record<string, string> = { tags: 'label', startTime: 'started', endTime: 'ended', searcherMetricsVal: 'metric', numTrials: 'trials', searcherType: 'searcher', resourcePool: 'pool', checkpointCount: 'checkpoints', forkedFrom: 'parent' };
const hints: Record<string, string> = { state: 'completed', started: '-7d or 2026-11-30', ended: '-12h', duration: '2h', progress: '0 to 100', archived: 'true' };
const states = ['active', 'paused', 'completed', 'canceled', 'error'];

const typeOf = (t: string) => (/NUMBER/.test(t) ? 'number' : /DATE/.test(t) ? 'date' : /TEXT/.test(t) ? 'text' : '');

export function Filters({ line, change, project }: { line: string; change: (line: string) => void; project?: number }) {
  const [tree, setTree] = useState<Group | null>(() => parse(line));
  const columns = useLoad(async (signal) => (await call(listProjectColumns, { path: [project ?? 0], signal })).columns, [project]);
  // What somebody wrote into the line is shown here; what this form wrote there is here already.
  useLayoutEffect(() => setTree((old) => (old && lineOf(old) === line.trim() ? old : parse(line))), [line]);
  if (!tree) return <section class="composed card" aria-label="composed filter"><p class="faint">This line cannot be shown as rows: it is not complete, or has a <code>not</code>. Change it in the line itself.</p></section>;
  const set = (next: Group) => {
    setTree(next);
    const text = lineOf(next);
    if (text !== line.trim()) change(text);
  };
  const known = new Map(own);
  for (const c of columns.data ?? []) {
    const name = nameOf(c);
    if (!known.has(name)) known.set(name, typeOf(c.type));
  }
  return (
    <section class="composed card" aria-label="composed filter">
      <Rows group={tree} set={set} known={known} depth={0} />
      <datalist id="filter-columns">{[...known.keys()].map((k) => <option key={k} value={k} />)}</datalist>
      <datalist id="filter-states">{states.map((s) => <option key={s} value={s} />)}</datalist>
    </section>
  );
}

// nameOf is a column as the language names it.
function nameOf(c: ProjectColumn): string {
  return same[c.column] ?? columnOf(c.column);
}

const fresh = (): Condition => ({ column: '', op: '=', values: [{ text: '', quoted: false }] });

function Rows({ group, set, known, depth, remove }: { group: Group; set: (g: Group) => void; known: Map<string, string>; depth: number; remove?: () => void }) {
  const put = (i: number, n: Node) => set({ ...group, children: group.children.map((c, j) => (j === i ? n : c)) });
  const drop = (i: number) => set({ ...group, children: group.children.filter((_, j) => j !== i) });
  return (
    <div class={depth ? 'group' : ''} role="group" aria-label={depth ? 'group of filters' : 'filters'}>
      <div class="row wrap">
        <label class="choice">
          <select aria-label="which of them must hold" value={group.any ? 'any' : 'all'} onChange={(e) => set({ ...group, any: e.currentTarget.value === 'any' })}>
            <option value="all">All of these hold</option>
            <option value="any">One of these holds</option>
          </select>
        </label>
        {remove && <button type="button" class="quiet" onClick={remove}>Remove the group</button>}
      </div>
      {group.children.map((c, i) => (isGroup(c)
        ? <Rows key={i} group={c} set={(g) => put(i, g)} known={known} depth={depth + 1} remove={() => drop(i)} />
        : <Row key={i} c={c} n={i + 1} set={(n) => put(i, n)} remove={() => drop(i)} known={known} />))}
      <div class="row wrap">
        <button type="button" onClick={() => set({ ...group, children: [...group.children, fresh()] })}>Add a filter</button>
        {depth < 2 && <button type="button" onClick={() => set({ ...group, children: [...group.children, { any: !group.any, children: [fresh()] }] })}>Add a group</button>}
      </div>
    </div>
  );
}

function Row({ c, n, set, remove, known }: { c: Condition; n: number; set: (c: Condition) => void; remove: () => void; known: Map<string, string> }) {
  const kind = known.get(c.column) ?? '';
  const fitting = byType[kind] ?? ops;
  const shown = fitting.includes(c.op) ? fitting : [...fitting, c.op];
  const quoted = c.values.some((v) => v.quoted);
  const values = (text: string): Condition['values'] => (many(c.op) ? text.split(',').map((t) => ({ text: t.trim(), quoted })) : [{ text, quoted }]);
  const column = (name: string) => {
    const ops = byType[known.get(name) ?? ''];
    set({ ...c, column: name, ...(ops && !ops.includes(c.op) ? { op: ops[0]! } : {}) });
  };
  return (
    <div class="filter">
      <input type="text" aria-label={`column of filter ${n}`} list="filter-columns" placeholder="column" spellcheck={false} autocomplete="off" value={c.column} onInput={(e) => column(e.currentTarget.value.trim())} />
      <select aria-label={`comparison of filter ${n}`} value={c.op} onChange={(e) => {
        const op = e.currentTarget.value as Op;
        set({ ...c, op, values: unary(op) ? [] : many(op) ? c.values : [c.values[0] ?? { text: '', quoted: false }] });
      }}>
        {shown.map((op) => <option key={op} value={op}>{names[op]}</option>)}
      </select>
      {!unary(c.op) && <input type="text" aria-label={`value of filter ${n}`} list={c.column === 'state' && !many(c.op) ? 'filter-states' : undefined} placeholder={many(c.op) ? 'a, b, c' : hints[c.column] ?? (kind === 'number' ? '0.1' : 'value')} spellcheck={false} autocomplete="off" value={c.values.map((v) => v.text).join(', ')} onInput={(e) => set({ ...c, values: values(e.currentTarget.value) })} />}
      <button type="button" class="quiet" aria-label={`remove filter ${n}`} onClick={remove}>✕</button>
    </div>
  );
}
