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

// around returns a configuration that searches near the hyperparameters of a trial: numbers between
// half and double their value, other hyperparameters unchanged.
export function around(config: Draft, hparams: Draft, trials = 10): Draft {
  const near = (v: unknown): unknown => {
    if (v && typeof v === 'object' && !Array.isArray(v)) return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, near(x)]));
    if (typeof v !== 'number' || v === 0 || !Number.isFinite(v)) return v;
    const ends = [v / 2, v * 2].sort((a, b) => a - b) as [number, number];
    return Number.isInteger(v) ? { type: 'int', minval: Math.floor(ends[0]), maxval: Math.ceil(ends[1]) } : { type: 'double', minval: short(ends[0]), maxval: short(ends[1]) };
  };
  const once = fixed(config, near(hparams) as Draft);
  return { ...once, searcher: { ...(once.searcher as Draft), name: 'random', max_trials: trials } };
}

const short = (n: number) => Number(n.toPrecision(6));

// words are a program with its arguments; one line goes to a shell.
export function command(entrypoint: unknown): { line: string; own: boolean } {
  if (!Array.isArray(entrypoint) || entrypoint.length === 0) return { line: '', own: true };
  const [shell, flag, line] = entrypoint as unknown[];
  if (entrypoint.length === 3 && shell === '/bin/sh' && flag === '-c') return { line: String(line), own: true };
  return { line: entrypoint.map(String).join(' '), own: false };
}
