// Usage over time: who held how many slots for how long.
import { useMemo } from 'preact/hooks';
import { percent, plural } from '../../lib/format';
import { useLoad } from '../../lib/load';
import { params, setParams } from '../../lib/router';
import { byOf, coloured, groups, hoursOf, last, layers, read, spanOf, sums, table, type By, type Share } from '../../lib/usage';
import { Empty, Loading, Problem } from '../../parts/bits';
import { Stack } from '../../parts/Stack';
import { sorted, sortOf, Table, type Column } from '../../parts/Table';

const spans: [number, string][] = [[7, '7 days'], [30, '30 days'], [90, '90 days'], [365, '12 months']];
const say = (h: number) => `${hoursOf(h)} h`;

export function Usage() {
  const p = params.value;
  const now = Date.now();
  const by = byOf(p.get('by'));
  const span = spanOf(p.get('from'), p.get('until'), now);
  const name = p.get('name') ?? '';
  const loaded = useLoad((signal) => (span.problem ? Promise.resolve([]) : read(span, signal)), [span.from, span.until, span.monthly, span.problem ?? '']);
  const all = useMemo(() => (loaded.data ? sums(loaded.data, span, by) : undefined), [loaded.data, by]);
  const chart = useMemo(() => all && layers(all), [all]);
  const sort = sortOf({ key: 'hours', desc: true });
  const title = groups[by].title;
  const columns: Column<Share>[] = [
    { key: 'name', title, width: 'minmax(9rem, 2fr)', narrow: true, sort: (s) => s.name.toLowerCase(), render: (s) => <span class="cut" title={s.name}><i class="dot" style={{ background: `var(--curve-${s.color})` }} />{s.name || <span class="faint">without a name</span>}</span> },
    { key: 'hours', title: 'Slot hours', width: '8rem', right: true, narrow: true, sort: (s) => s.hours, render: (s) => <span class="num">{hoursOf(s.hours)}</span> },
    { key: 'part', title: 'Of all', width: '5.5rem', right: true, narrow: true, sort: (s) => s.part, render: (s) => <span class="num">{percent(s.part)}</span> },
    { key: 'bar', title: 'Share', width: 'minmax(6rem, 3fr)', render: (s) => <span class="usage"><span style={{ width: `${Math.min(1, s.part) * 100}%`, background: `var(--curve-${s.color})` }} /></span> },
    { key: 'last', title: span.monthly ? 'Last month' : 'Last day', width: '7rem', right: true, sort: (s) => s.values.at(-1) ?? 0, render: (s) => <span class="num">{hoursOf(s.values.at(-1) ?? 0)}</span> },
  ];
  const rows = useMemo(() => sorted((all?.shares ?? []).filter((s) => s.name.toLowerCase().includes(name.toLowerCase())), columns, sort), [all, name, sort.key, sort.desc]);
  const choose = (days: number) => {
    const s = last(days, now);
    setParams({ from: days === 30 ? '' : s.from, until: days === 30 ? '' : s.until });
  };
  const isLast = (days: number) => {
    const s = last(days, now);
    return s.from === span.from && s.until === span.until;
  };
  return (
    <div class="stack scroll usage-page">
      <div class="row wrap">
        <span class="choices" role="group" aria-label="added up by">
          {(Object.keys(groups) as By[]).map((k) => <button key={k} type="button" class={k === by ? 'on' : ''} aria-pressed={k === by} onClick={() => setParams({ by: k === 'workspace' ? '' : k })}>{groups[k].title}</button>)}
        </span>
        <span class="choices" role="group" aria-label="time">
          {spans.map(([days, text]) => <button key={days} type="button" class={isLast(days) ? 'on' : ''} aria-pressed={isLast(days)} onClick={() => choose(days)}>{text}</button>)}
        </span>
        <span class="row wrap">
          <label class="choice">From <input type="date" value={span.from} onChange={(e) => e.currentTarget.value && setParams({ from: e.currentTarget.value, until: span.until })} /></label>
          <label class="choice">to <input type="date" value={span.until} onChange={(e) => e.currentTarget.value && setParams({ from: span.from, until: e.currentTarget.value })} /></label>
        </span>
        <span class="grow" />
        {!span.problem && <a class="button" href={table(span)} download={`usage-${span.from}-${span.until}.csv`}>CSV</a>}
      </div>
      {span.problem && <p class="said bad" role="alert">{span.problem}</p>}
      {loaded.error !== undefined && <Problem what="Could not load the usage." error={loaded.error} retry={loaded.reload} />}
      {!span.problem && !all && loaded.error === undefined && <Loading lines={5} />}
      {!span.problem && all && chart && (
        <>
          <section class="card" aria-label="usage over time">
            <div class="row wrap">
              <h2>{hoursOf(all.hours)} slot hours, {span.from} to {span.until}</h2>
              <span class="grow" />
              <span class="faint small">{span.monthly ? 'whole months' : 'days'}, from midnight UTC; slots count from placement to the end</span>
            </div>
            {all.hours > 0 ? (
              <>
                <Stack periods={all.periods} layers={chart} say={say} label={`Slot hours of each ${span.monthly ? 'month' : 'day'} by ${title.toLowerCase()}: ${chart.map((l) => `${l.name} ${say(l.values.reduce((a, v) => a + v, 0))}`).join(', ')}`} />
                <p class="key">{chart.map((l) => <span key={l.name} class="cut" title={l.name}><i style={{ background: `var(--curve-${l.color})` }} />{l.name || 'without a name'}</span>)}</p>
              </>
            ) : <Empty title="Nothing was used in this time."><p>Only what you may see counts: attempts in workspaces that you may view.</p></Empty>}
            {by === 'gpu' && all.hours > 0 && all.shares.length === 0 && <p class="hint">No slot of this time was a GPU.</p>}
            {by === 'label' && all.hours > 0 && <p class="hint">An experiment with several labels counts for each of them; one without labels counts for none.</p>}
          </section>
          {all.hours > 0 && (
            <Table<Share> label="usage" columns={columns} count={rows.length} row={(i) => rows[i]} id={(s) => s.name} sort={sort} fit
              tools={
                <>
                  <input type="search" aria-label="search by name" placeholder="Search by name" value={name} onInput={(e) => setParams({ name: e.currentTarget.value })} />
                  <span class="faint small">{plural(all.shares.length, 'name')}{all.shares.length > coloured ? `; the chart shows the largest ${coloured} and the others together` : ''}</span>
                </>
              }
              empty={<Empty title="No name matches." />} />
          )}
          {all.hours > 0 && (
            <details class="method">
              <summary>Numbers of each {span.monthly ? 'month' : 'day'}</summary>
              <div class="scroll" tabIndex={0}>
                <table class="plain">
                  <thead><tr><th scope="col">{span.monthly ? 'Month' : 'Day'}</th><th scope="col" class="right">All</th>{chart.map((l) => <th key={l.name} scope="col" class="right"><span class="cut" title={l.name}>{l.name || 'without a name'}</span></th>)}</tr></thead>
                  <tbody>
                    {all.periods.map((day, i) => (
                      <tr key={day}><th scope="row">{day}</th><td class="right num">{hoursOf(all.totals[i]!)}</td>{chart.map((l) => <td key={l.name} class="right num">{hoursOf(l.values[i]!)}</td>)}</tr>
                    )).reverse()}
                  </tbody>
                </table>
              </div>
            </details>
          )}
        </>
      )}
    </div>
  );
}
