// A configuration that a user edits, as a form and as YAML, which show the same fields.
import { parseDocument } from 'yaml';
import { emit } from './yaml';

export type Draft = Record<string, unknown>;

export interface Read {
  draft?: Draft;
  problem?: string; // with its line, as far as it is known
}

// read parses YAML or JSON whose top level is a map.
export function read(text: string): Read {
  const doc = parseDocument(text, { prettyErrors: false, uniqueKeys: true });
  const wrong = doc.errors[0];
  if (wrong) {
    const line = text.slice(0, wrong.pos[0]).split('\n').length;
    return { problem: `Line ${line}: ${wrong.message}` };
  }
  let value: unknown;
  try {
    value = doc.toJS({ maxAliasCount: 100 });
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
  if (value === null || value === undefined) return { draft: {} };
  if (typeof value !== 'object' || Array.isArray(value)) return { problem: 'The configuration is not a map: expected lines like "description: my task".' };
  return { draft: value as Draft };
}

// write returns a draft as YAML; an empty draft is an empty text.
export function write(draft: Draft): string {
  return Object.keys(draft).length ? emit(draft) : '';
}

// at reads a field by its path, as in resources.slots.
export function at(draft: Draft, path: string): unknown {
  return path.split('.').reduce<unknown>((v, key) => (v && typeof v === 'object' ? (v as Draft)[key] : undefined), draft);
}

// put returns a draft with another value in a field; undefined removes the field, and the maps
// that become empty.
export function put(draft: Draft, path: string, value: unknown): Draft {
  const [key = '', ...rest] = path.split('.');
  const next: Draft = { ...draft };
  let set = value;
  if (rest.length) {
    const below = draft[key];
    const map = below && typeof below === 'object' && !Array.isArray(below) ? (below as Draft) : {};
    const made = put(map, rest.join('.'), value);
    set = Object.keys(made).length ? made : undefined;
  }
  if (set === undefined) delete next[key];
  else next[key] = set;
  return next;
}

// fixed returns a configuration with one trial, which has the hyperparameters of a given trial.
export function fixed(config: Draft, hparams: Draft): Draft {
  const searcher = (config.searcher && typeof config.searcher === 'object' ? config.searcher : {}) as Draft;
  const kept: Draft = { name: 'single' };
  for (const key of ['metric', 'smaller_is_better', 'max_length', 'max_time', 'time_metric']) if (searcher[key] !== undefined) kept[key] = searcher[key];
  return { ...config, hyperparameters: hparams, searcher: kept };
}

// onward returns a configuration with one trial that has the hyperparameters of a given one and begins with its newest checkpoint, or with the
// checkpoint that is named.
export function onward(config: Draft, hparams: Draft, trial: number, checkpoint = ''): Draft {
  const once = fixed(config, hparams);
  return { ...once, searcher: { ...(once.searcher as Draft), ...(checkpoint ? { source_checkpoint_uuid: checkpoint } : { source_trial_id: trial }) } };
}

// around returns a configuration that searches near the hyperparameters of a trial, with the types of the old search: a number
// up to a quarter of its old range away, a logarithm a quarter of its exponents. Constants and categories stay as they are. The new
// ranges are within the old ones, unless wide.
export function around(config: Draft, hparams: Draft, wide = false, trials = 10): Draft {
  const once = fixed(config, near(config.hyperparameters, hparams, wide) as Draft);
  const limits = isMap(config.searcher) && config.searcher.constraints !== undefined ? { constraints: config.searcher.constraints } : {};
  const several = isMap(config.searcher) && Array.isArray(config.searcher.metrics) ? { metrics: config.searcher.metrics } : {};
  return { ...once, searcher: { ...(once.searcher as Draft), name: 'random', max_trials: trials, ...limits, ...several } };
}

const isMap = (v: unknown): v is Draft => !!v && typeof v === 'object' && !Array.isArray(v);
const types = ['const', 'categorical', 'int', 'double', 'log'];
const isRange = (v: unknown): v is Draft => isMap(v) && types.includes(v.type as string);

function near(space: unknown, value: unknown, wide: boolean): unknown {
  if (isRange(space)) return narrowed(space, value, wide);
  if (!isMap(space)) return value === undefined ? space : value;
  const values = isMap(value) ? value : {};
  return Object.fromEntries([...new Set([...Object.keys(space), ...Object.keys(values)])].map((k) => [k, near(space[k], values[k], wide)]));
}

function narrowed(space: Draft, value: unknown, wide: boolean): Draft {
  const { type, minval, maxval } = space;
  const { prior: _, ...plain } = space; // it may be outside of the new range
  if (type === 'const' || type === 'categorical' || typeof value !== 'number' || typeof minval !== 'number' || typeof maxval !== 'number') return space;
  if (space.log === true || typeof space.step === 'number') return { ...plain, ...stepped(space, value, minval, maxval) };
  const base = typeof space.base === 'number' ? space.base : 10;
  const at = type === 'log' ? Math.log(value) / Math.log(base) : value;
  if (!Number.isFinite(at)) return space;
  const by = Math.max((maxval - minval) / 4, type === 'int' ? 1 : 0);
  // Sizes and rates that were above 0 stay above 0.
  const least = !wide ? minval : type === 'log' || minval < 0 ? -Infinity : type === 'int' && minval > 0 ? Math.max(1, Math.floor(minval / 2)) : minval / 2;
  const ends = [Math.max(least, at - by), wide ? at + by : Math.min(maxval, at + by)] as const;
  const [low, high] = type === 'int' ? [Math.floor(ends[0]), Math.ceil(ends[1])] : ends.map(type === 'log' ? exponent : short);
  return { ...plain, minval: low, maxval: high };
}

// stepped narrows a range with steps or with log: true, within its old ends and on its steps.
function stepped({ type, log, step }: Draft, value: number, minval: number, maxval: number): Draft {
  const by = log === true ? (maxval / minval) ** 0.25 : (maxval - minval) / 4;
  const ends = log === true ? [value / by, value * by] : [value - by, value + by];
  const size = typeof step === 'number' ? step : type === 'int' ? 1 : 0;
  const [low, high] = ends.map((v, i) => {
    const within = Math.min(Math.max(v, minval), maxval);
    if (!size) return short(within);
    const steps = (within - minval) / size;
    return Math.min(short(minval + (i ? Math.ceil(steps - 1e-9) : Math.floor(steps + 1e-9)) * size), maxval);
  });
  return { minval: low, maxval: high };
}

// varies reports whether a configuration's hyperparameters have at least one range or choice.
export const varies = (space: unknown): boolean => (isRange(space) ? space.type !== 'const' : isMap(space) && Object.values(space).some(varies));

const short = (n: number) => Number(n.toPrecision(6));
const exponent = (n: number) => Number(n.toFixed(6));

// needsCode returns what an entrypoint runs that is a file of an experiment's code, as train.py or model_def:Trial; empty if nothing.
export function needsCode(entrypoint: unknown): string {
  const words = (Array.isArray(entrypoint) ? entrypoint.map(String) : typeof entrypoint === 'string' ? [entrypoint] : []).flatMap((w) => w.trim().split(/[\s;&|'"()]+/));
  return words.find((w) => /^(?!\/|~|\$|-|\w+:\/\/)\S+\.(py|sh|ipynb)$/.test(w) || /^\.\/\S+$/.test(w) || /^[A-Za-z_][\w.]*:[A-Za-z_]\w*$/.test(w)) ?? '';
}

// words are a program with its arguments; one line goes to a shell.
export function command(entrypoint: unknown): { line: string; own: boolean } {
  if (!Array.isArray(entrypoint) || entrypoint.length === 0) return { line: '', own: true };
  const [shell, flag, line] = entrypoint as unknown[];
  if (entrypoint.length === 3 && shell === '/bin/sh' && flag === '-c') return { line: String(line), own: true };
  return { line: entrypoint.map(String).join(' '), own: false };
}
