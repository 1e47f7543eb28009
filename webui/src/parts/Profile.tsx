// The system metrics of trials: of one trial for each GPU and disk, of several trials for comparison.
import { useMemo } from 'preact/hooks';
import type { Compared } from '../lib/compare';
import { useLoad } from '../lib/load';
import { inOrder, mean, measured, thin, titleOf, type Measured } from '../lib/profile';
import { params, setParams } from '../lib/router';
import { keyOf, type Book } from '../lib/series';
import { ended } from '../lib/states';
import type { Experiment } from '../lib/types';
import { Empty, Loading, Problem } from './bits';
import { Chart, type Drawn } from './Chart';

const height = 200;
const colors = 8;

function zoomOf(): [number, number] | null {
  const [a, b] = (params.value.get('zs') ?? '').split('~').map(Number);
  return a !== undefined && b !== undefined && Number.isFinite(a) && Number.isFinite(b) && a < b ? [a, b] : null;
}
const zoom = (r: [number, number] | null) => setParams({ zs: r ? r.map((v) => v.toFixed(1)).join('~') : '' });

// load reads the metrics of trials, by name.
async function load(trials: number[], signal: AbortSignal): Promise<Map<string, Measured[]>> {
  const all = (await Promise.all(trials.map((t) => measured(t, signal)))).flat();
  return new Map(inOrder(all.map((s) => s.name)).map((name) => [name, all.filter((s) => s.name === name)]));
}

// None says why there is no measurement.
function None({ on, over }: { on: boolean; over: boolean }) {
  if (on && over) return <Empty title="Nothing was measured."><p>Profiling was on, but the training ended before its first measurement.</p></Empty>;
  if (on) return <Empty title="Nothing was measured yet."><p>Profiling is on. The first measurement comes some seconds after the training starts.</p></Empty>;
  return (
    <Empty title="Nothing was measured.">
      <p>A training measures its nodes if its configuration says so:</p>
      <pre>{'profiling:\n  enabled: true'}</pre>
    </Empty>
  );
}

const profiles = (e: Experiment | undefined) => e?.config.profiling?.enabled === true;

// Profile shows the metrics of one trial: a line for each GPU, disk or node.
export function Profile({ trial, experiment, over }: { trial: number; experiment: Experiment | undefined; over: boolean }) {
  const loaded = useLoad((signal) => load([trial], signal), [trial]);
  const charts = useMemo(() => [...(loaded.data ?? [])].map(([name, list]) => ({
    name, series: list.map((s, i): Drawn => ({ label: [s.agent, s.part].filter(Boolean).join(' '), color: (i % colors) + 1, ...thin(s.t, s.y) })),
  })), [loaded.data]);
  if (loaded.error) return <Problem what="Could not load what was measured." error={loaded.error} retry={loaded.reload} />;
  if (!loaded.data) return <Loading lines={5} />;
  if (charts.length === 0) return <><None on={profiles(experiment)} over={over} />{!over && <p class="row"><button type="button" onClick={loaded.reload}>Read again</button></p>}</>;
  const z = zoomOf();
  return (
    <>
      <div class="tools">{z && <button type="button" onClick={() => zoom(null)}>Whole range</button>}<span class="grow" />{!over && <button type="button" onClick={loaded.reload}>Read again</button>}</div>
      <div class="charts pairs">
        {charts.map((c) => (
          <figure key={c.name} class="card chart"><figcaption><h2>{titleOf(c.name)}</h2></figcaption>
            <Chart id={c.name} title={titleOf(c.name)} series={c.series} time log={false} smoothing={0} height={height} zoom={z} onZoom={zoom} />
          </figure>
        ))}
      </div>
    </>
  );
}

// Systems compares trials: the loss, and below it the mean of each metric, over the seconds since
// each trial's first report.
export function Systems({ list, names, book, version }: { list: Compared[]; names: ReadonlyMap<number, string>; book: Book; version: number }) {
  const trials = list.map((c) => c.trial.id);
  const loaded = useLoad((signal) => load(trials, signal), [trials.join()]);
  const charts = useMemo(() => {
    if (!loaded.data) return [];
    const begins = new Map<number, number>();
    const note = (trial: number, t: number | undefined) => t !== undefined && begins.set(trial, Math.min(begins.get(trial) ?? Infinity, t));
    const metrics = list.map((c) => ['validation', 'training'].map((group) => book.get(keyOf({ trial: c.trial.id, group, name: c.experiment.searcherMetric }))).find(Boolean));
    list.forEach((c, i) => note(c.trial.id, metrics[i]?.t[0]));
    for (const all of loaded.data.values()) for (const s of all) note(s.trial, s.t[0]);
    const color = (id: number) => (trials.indexOf(id) % colors) + 1;
    const first = { name: list[0]?.experiment.searcherMetric ?? '', series: list.flatMap((c, i): Drawn[] => {
      const m = metrics[i];
      return m ? [{ label: names.get(c.trial.id) ?? `trial ${c.trial.id}`, color: color(c.trial.id), x: m.t.map((t) => t - begins.get(c.trial.id)!), y: m.y }] : [];
    }) };
    return [first, ...[...loaded.data].map(([name, all]) => ({
      name: titleOf(name), series: trials.flatMap((id): Drawn[] => {
        const of = all.filter((s) => s.trial === id);
        return of.length ? [{ label: names.get(id) ?? `trial ${id}`, color: color(id), ...mean(of, begins.get(id)!) }] : [];
      }),
    }))].filter((c) => c.series.length);
  }, [loaded.data, version, trials.join(), names]);
  if (loaded.error) return <Problem what="Could not load what was measured." error={loaded.error} retry={loaded.reload} />;
  if (!loaded.data) return <Loading lines={5} />;
  if (loaded.data.size === 0) return <None on={list.some((c) => profiles(c.experiment))} over={list.every((c) => ended(c.trial.state))} />;
  const z = zoomOf();
  return (
    <>
      <div class="tools"><span class="faint small">Over the seconds since each trial's first report; of several GPUs, disks or nodes the mean.</span>{z && <button type="button" onClick={() => zoom(null)}>Whole range</button>}</div>
      <div class="charts pairs">
        {charts.map((c) => (
          <figure key={c.name} class="card chart"><figcaption><h2>{c.name}</h2></figcaption>
            <Chart id={`system.${c.name}`} title={c.name} series={c.series} time={false} across="seconds" log={false} smoothing={0} height={height} zoom={z} onZoom={zoom} />
          </figure>
        ))}
      </div>
    </>
  );
}
