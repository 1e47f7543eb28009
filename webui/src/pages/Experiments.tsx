// All experiments: found, ordered and filtered by the master, read in lots as the
// table is scrolled, moved by the stream of events.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { actions, leftOut, perform, type Action } from '../lib/actions';
import { api, type Query } from '../lib/api';
import { ago, clock, metric, plural } from '../lib/format';
import { lazy } from '../lib/lazy';
import { follow, often, type Moved } from '../lib/live';
import { useLoad, useNow } from '../lib/load';
import { searchFor, wrongAt } from '../lib/find';
import { go, params, setParams } from '../lib/router';
import { complain, say, words } from '../lib/toast';
import { ended } from '../lib/states';
import type { Experiment } from '../lib/types';
import { spent } from '../lib/waiting';
import { Began, Confirm, Empty, Loading, Menu, Problem, Progress, State, type Question } from '../parts/bits';
import { useTitle } from '../parts/Shell';
import { Welcome } from '../parts/Welcome';
import { sortOf, Table, type Column, type Sort } from '../parts/Table';

const Move = lazy(() => import('../parts/More').then((m) => m.Move), true);
const Filters = lazy(() => import('../parts/Filters').then((m) => m.Filters));
const Views = lazy(() => import('../parts/Views').then((m) => m.Views), true);

const lot = 100;
const settle = 250;
const states = ['ACTIVE', 'PAUSED', 'COMPLETED', 'CANCELED', 'ERROR'];
const sorts: Record<string, string> = {
  id: 'SORT_BY_ID', name: 'SORT_BY_NAME', state: 'SORT_BY_STATE', user: 'SORT_BY_USER', started: 'SORT_BY_START_TIME', ended: 'SORT_BY_END_TIME',
  trials: 'SORT_BY_NUM_TRIALS', progress: 'SORT_BY_PROGRESS', pool: 'SORT_BY_RESOURCE_POOL', metric: 'SORT_BY_SEARCHER_METRIC_VAL',
  checkpoints: 'SORT_BY_CHECKPOINT_COUNT', size: 'SORT_BY_CHECKPOINT_SIZE',
};

function columns(now: number): Column<Experiment>[] {
  return [
    { key: 'id', title: 'ID', width: '3.75rem', right: true, sort: sorts.id!, narrow: true, render: (e) => <a class="num" href={`/experiments/${e.id}`}>{e.id}</a> },
    { key: 'name', title: 'Name', width: 'minmax(8rem, 4fr)', sort: sorts.name!, narrow: true, render: (e) => <span class="cut" title={e.name}>{e.name}{e.archived && <span class="tag">archived</span>}{e.labels.map((l) => <span key={l} class="tag">{l}</span>)}</span> },
    { key: 'state', title: 'State', width: '7.5rem', sort: sorts.state!, narrow: true, render: (e) => <State state={e.state} /> },
    { key: 'progress', title: 'Progress', width: '7.75rem', sort: sorts.progress!, render: (e) => <Progress value={e.progress ?? (e.state.endsWith('COMPLETED') ? 1 : ended(e.state) ? 0 : undefined)} /> },
    { key: 'metric', title: 'Best metric', width: 'minmax(9rem, 1.5fr)', sort: sorts.metric!, render: (e) => (e.bestTrialSearcherMetric === null ? <span class="faint">–</span> : <span class="cut" title={e.searcherMetric}><span class="num">{metric(e.bestTrialSearcherMetric)}</span> <span class="faint">{e.searcherMetric}</span></span>) },
    { key: 'trials', title: 'Trials', width: '4rem', right: true, sort: sorts.trials!, render: (e) => <span class="num">{e.numTrials}</span> },
    { key: 'searcher', title: 'Searcher', width: '7rem', hidden: true, render: (e) => e.searcherType },
    { key: 'user', title: 'Owner', width: '7rem', sort: sorts.user!, render: (e) => <span class="cut" title={e.username}>{e.displayName || e.username}</span> },
    { key: 'started', title: 'Started', width: '5.75rem', sort: sorts.started!, render: (e) => <Began of={e} now={now} /> },
    { key: 'ended', title: 'Ended', width: '7rem', hidden: true, sort: sorts.ended!, render: (e) => (e.endTime ? <time dateTime={e.endTime} title={clock(e.endTime)}>{ago(e.endTime, now)}</time> : '–') },
    { key: 'duration', title: 'Duration', width: '5.75rem', right: true, render: (e) => <Spent e={e} now={now} /> },
    { key: 'checkpoints', title: 'Checkpoints', width: '7rem', right: true, hidden: true, sort: sorts.checkpoints!, render: (e) => <span class="num">{e.checkpointCount}</span> },
    { key: 'pool', title: 'Pool', width: '7rem', hidden: true, sort: sorts.pool!, render: (e) => e.resourcePool },
    { key: 'project', title: 'Project', width: '8rem', hidden: true, render: (e) => <span class="cut">{e.workspaceName} / {e.projectName}</span> },
  ];
}

// Spent has no duration of work that only waits.
function Spent({ e, now }: { e: Experiment; now: number }) {
  const time = spent(e, now);
  return time.name === 'Waiting for' ? <span class="faint" title={`Waiting for ${time.text}`}>–</span> : <span class="num" title={`${time.name} ${time.text}`}>{time.text.split(',')[0]}</span>;
}

// useRows holds what has been read of a long list.
function useRows(query: Query) {
  const wanted = JSON.stringify(query);
  const store = useRef({ rows: new Map<number, Experiment>(), reading: new Set<number>(), range: [0, 0] as [number, number], query: wanted, stop: new AbortController() });
  const [state, set] = useState<{ total: number | undefined; version: number; error: unknown }>({ total: undefined, version: 0, error: undefined });

  const fetchLot = useCallback(async (n: number) => {
    const s = store.current;
    if (s.reading.has(n)) return;
    s.reading.add(n);
    const { signal } = s.stop;
    try {
      const asked: Query = { ...(JSON.parse(s.query) as Query), offset: n * lot, limit: lot, withoutConfig: true };
      const answer = await ('query' in asked ? api.search : api.experiments)(asked, signal);
      if (signal.aborted) return;
      answer.experiments.forEach((e, i) => s.rows.set(n * lot + i, e));
      set((old) => ({ total: answer.pagination.total, version: old.version + 1, error: undefined }));
    } catch (error) {
      if (!signal.aborted) set((old) => ({ ...old, error }));
    } finally {
      s.reading.delete(n);
    }
  }, []);
  // fresh reads what is on the screen again; the rest is read when it is scrolled to.
  const fresh = useCallback(() => {
    const s = store.current;
    s.stop.abort();
    s.stop = new AbortController();
    s.reading = new Set();
    const [first, last] = s.range;
    for (const i of [...s.rows.keys()]) if (i < first - lot || i > last + lot) s.rows.delete(i);
    for (let n = Math.floor(first / lot); n <= Math.floor(Math.max(first, last - 1) / lot); n++) void fetchLot(n);
  }, []);
  const range = useCallback((first: number, last: number) => {
    const s = store.current;
    s.range = [first, last];
    for (let n = Math.floor(first / lot); n * lot < last + lot / 2; n++) if (!s.rows.has(n * lot)) void fetchLot(n);
  }, []);
  useEffect(() => {
    const s = store.current;
    s.query = wanted;
    s.rows = new Map();
    s.range = [0, Math.min(s.range[1] - s.range[0], lot) || lot];
    set((old) => ({ ...old, version: old.version + 1 }));
    fresh();
    return () => store.current.stop.abort();
  }, [wanted]);

  const patch = useCallback((m: Moved): boolean => {
    for (const [i, e] of store.current.rows) {
      if (e.id !== m.id) continue;
      store.current.rows.set(i, { ...e, ...m });
      set((old) => ({ ...old, version: old.version + 1 }));
      return true;
    }
    return false;
  }, []);
  return { ...state, row: (i: number) => store.current.rows.get(i), all: () => [...store.current.rows.values()], range, fresh, patch };
}

export function Experiments() {
  useTitle('Experiments');
  return <div class="page full"><ExperimentList /></div>;
}

// ExperimentList is the list of all experiments, or of those of a project.
export function ExperimentList({ project }: { project?: number }) {
  const now = useNow();
  const p = params.value;
  const sort: Sort = sortOf({ key: 'id', desc: true });
  const chosenStates = p.getAll('state');
  const owner = p.get('user') ?? '';
  const archived = p.get('archived') ?? '';
  const name = p.get('name') ?? '';
  const where = p.get('where') ?? '';
  const [typed, setTyped] = useState(name);
  const [line, setLine] = useState(where);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [question, setQuestion] = useState<Question | null>(null);
  const [moving, setMoving] = useState(false);
  const [reading, setReading] = useState(false);
  const others = useRef(new Map<string, Experiment>()); // of the selection, those that were not read for the table
  const users = useLoad(() => api.users(), []);
  const asked: Query = where ? searchFor({ where, name, owner, states: chosenStates, archived, sort: sort.key, desc: sort.desc, ...(project ? { project } : {}) }) : {
    ...(project ? { projectId: project } : {}),
    name, users: owner ? [owner] : [], states: chosenStates.map((s) => `STATE_${s}`), archived: archived === 'all' ? '' : archived === 'only' ? 'true' : 'false',
    sortBy: sorts[sort.key] ?? 'SORT_BY_ID', orderBy: sort.desc ? 'ORDER_BY_DESC' : 'ORDER_BY_ASC',
  };
  const rows = useRows(asked);
  const list = useMemo(() => columns(now), [now]);
  const composing = p.get('compose') === '1';
  const wrong = wrongAt(rows.error);
  const filtered = !!(where || name || owner || chosenStates.length || archived);

  useEffect(() => {
    const soon = often(rows.fresh, 1000);
    let ready = false;
    return follow({
      onReady: () => {
        if (ready) soon(); // back after an interruption
        ready = true;
      },
      onExperiment: (m) => {
        if (!rows.patch(m) || ended(m.state)) soon();
      },
      onLook: (l) => {
        if (l.what.includes('experiments') || l.gone.length) soon();
      },
    });
  }, []);
  useEffect(() => {
    if (typed === name) return;
    const t = setTimeout(() => setParams({ name: typed }), settle);
    return () => clearTimeout(t);
  }, [typed]);
  useLayoutEffect(() => setTyped(name), [name]);
  useEffect(() => {
    if (line.trim() === where) return;
    const t = setTimeout(() => setParams({ where: line.trim() }), 2 * settle);
    return () => clearTimeout(t);
  }, [line]);
  useLayoutEffect(() => setLine((old) => (old.trim() === where ? old : where)), [where]);

  const here = new Map(rows.all().map((e) => [String(e.id), e]));
  const save = async (as: 'csv' | 'json') => {
    try {
      const { saveExperiments } = await import('../lib/export');
      await saveExperiments(as, asked, rows.total ?? 0);
    } catch (error) {
      complain('Export', error);
    }
  };
  const picked = [...selected].flatMap((id) => here.get(id) ?? others.current.get(id) ?? []);
  const selectAll = async () => {
    setReading(true);
    try {
      const { matches, maxMatches } = await import('../lib/matches');
      const all = await matches(asked);
      others.current = new Map(all.map((e) => [String(e.id), e]));
      setSelected(new Set(others.current.keys()));
      if ((rows.total ?? 0) > maxMatches) say(`The first ${plural(maxMatches, 'match', 'matches')} are selected`);
    } catch (error) {
      complain('Select all matches', error);
    } finally {
      setReading(false);
    }
  };
  const run = (a: Action) => {
    const list = picked.filter(a.fits);
    const out = leftOut(a, picked);
    const act = async () => {
      await perform(a, list);
      setSelected(new Set());
      rows.fresh();
    };
    if (a.ask || out) setQuestion({ title: `${a.title} ${plural(list.length, 'experiment')}?`, text: [a.ask, out].filter(Boolean).join(' '), yes: a.title, danger: !!a.danger, act });
    else act().catch((error) => complain(a.title, error));
  };
  const toggleState = (s: string) => setParams({ state: chosenStates.includes(s) ? chosenStates.filter((x) => x !== s) : [...chosenStates, s] });

  const count = rows.total !== undefined && !wrong && <span class="faint num" role="status">{plural(rows.total, filtered ? 'match' : 'experiment', filtered ? 'matches' : 'experiments')}</span>;
  return (
    <>
      <div class={`head${project ? ' short' : ''}`}>
        {!project && <h1>Experiments</h1>}
        {count}
        <span class="grow" />
        <Views />
      </div>
      {rows.error !== undefined && !wrong && <Problem what="Could not load the list." error={rows.error} retry={rows.fresh} />}
      <Table<Experiment>
        label="experiments" columns={list} count={wrong ? 0 : rows.total ?? 0} row={rows.row} onRange={rows.range} id={(e) => String(e.id)} open={(e) => go(`/experiments/${e.id}`)}
        sort={sort} selected={selected} onSelect={setSelected}
        tools={selected.size ? (
          <div class="bulk" role="toolbar" aria-label="actions on the selection">
            <strong>{selected.size.toLocaleString('en')} selected</strong>
            {rows.total !== undefined && selected.size < rows.total && <button type="button" class="quiet" disabled={reading} onClick={() => void selectAll()}>Select all {rows.total.toLocaleString('en')}</button>}
            {actions.filter((a) => picked.some(a.fits)).map((a) => {
              const n = picked.filter(a.fits).length;
              return <button key={a.verb} type="button" class={a.danger ? 'danger' : ''} title={leftOut(a, picked) || undefined} onClick={() => run(a)}>{a.title}{n < picked.length && <span class="count">{n}</span>}</button>;
            })}
            <button type="button" onClick={() => setMoving(true)}>Move…</button>
            {picked.length > 1 && picked.length <= 20 && <a class="button" href={`/compare?experiments=${picked.map((e) => e.id).join(',')}`}>Compare</a>}
            {picked.length <= 100 && <a class="button" href={`/launch/tensorboards?experiments=${picked.map((e) => e.id).join(',')}`}>TensorBoard</a>}
            <button type="button" class="quiet" onClick={() => setSelected(new Set())}>Clear</button>
          </div>
        ) : (
          <>
            <input type="search" class="find" placeholder="Search by name" aria-label="search by name" value={typed} onInput={(e) => setTyped(e.currentTarget.value)} />
            <span class="where">
              <input type="search" placeholder="Filter: validation.loss < 0.1 and hp.lr < 0.01 and label = x" aria-label="filter" aria-invalid={!!wrong} aria-describedby="where-wrong" spellcheck={false} autocomplete="off"
                value={line} onInput={(e) => setLine(e.currentTarget.value)} onKeyDown={(e) => e.key === 'Enter' && setParams({ where: line.trim() })} />
              {wrong && <span id="where-wrong" class="wrong" role="alert"><code>{where.slice(0, wrong.at)}<mark>{where.slice(wrong.at).split(/(?=[\s()=<>!~,])/)[0] || '…'}</mark></code> {wrong.message}</span>}
            </span>
            <button type="button" class={composing ? 'on' : ''} aria-expanded={composing} onClick={() => setParams({ compose: composing ? '' : 1 })}>Compose</button>
            <Menu label={chosenStates.length > 1 ? `${chosenStates.length} states` : chosenStates.length ? `State: ${chosenStates[0]!.toLowerCase()}` : 'State'} title="filter by state">
              {() => states.map((s) => <label key={s} class="choice"><input type="checkbox" checked={chosenStates.includes(s)} onChange={() => toggleState(s)} /> {s.toLowerCase()}</label>)}
            </Menu>
            <select aria-label="filter by owner" value={owner} onChange={(e) => setParams({ user: e.currentTarget.value })}>
              <option value="">Every owner</option>
              {(users.data ?? []).map((u) => <option key={u.id} value={u.username}>{u.displayName || u.username}</option>)}
            </select>
            <select aria-label="archived" value={archived} onChange={(e) => setParams({ archived: e.currentTarget.value })}>
              <option value="">Without archived</option>
              <option value="all">With archived</option>
              <option value="only">Only archived</option>
            </select>
            <Menu label="Export" title="export all matches">
              {(close) => (['csv', 'json'] as const).map((as) => <button key={as} type="button" class="item" onClick={() => { close(); void save(as); }}>All {filtered ? 'matches' : 'experiments'} as {as.toUpperCase()}</button>)}
            </Menu>
          </>
        )}
        below={composing && <Filters line={where} change={(to) => { setLine(to); setParams({ where: to }); }} {...(project ? { project } : {})} />}
        empty={wrong ? <Empty title="The filter is invalid." /> : rows.total === undefined ? (rows.error ? <p class="faint">{words(rows.error)}</p> : <Loading />)
          : filtered ? <Empty title="No experiment matches."><button type="button" onClick={() => setParams({ where: '', name: '', user: '', state: '', archived: '' })}>Show all</button></Empty>
            : <Welcome />} />
      <Confirm question={question} close={() => setQuestion(null)} />
      {moving && <Move list={picked} close={() => setMoving(false)} done={() => { setSelected(new Set()); rows.fresh(); }} />}
    </>
  );
}
