// The differences between trials.
import { flat, plain } from './format';
import { groupOf } from './series';
import type { Experiment, Trial } from './types';

export interface Compared {
  trial: Trial;
  experiment: Experiment;
}

export type Measure = 'last' | 'min' | 'max' | 'mean';

// metricsOf lists the metrics that at least one trial has reported, with one value of each trial. The
// searcher's metric is first, then the metrics of validations.
export function metricsOf(list: readonly Compared[], of: Measure): { name: string; values: unknown[] }[] {
  const found = new Map<string, unknown[]>();
  list.forEach((c, i) => {
    for (const [raw, metrics] of Object.entries(c.trial.summaryMetrics ?? {})) {
      for (const [name, summary] of Object.entries((metrics ?? {}) as Record<string, Record<string, unknown>>)) {
        if (!summary || summary.type !== 'number') continue;
        const key = `${groupOf(raw)} ${name}`;
        let values = found.get(key);
        if (!values) found.set(key, (values = list.map(() => undefined)));
        values[i] = summary[of];
      }
    }
  });
  const first = new Set(list.map((c) => `validation ${c.experiment.searcherMetric}`));
  const rank = (n: string) => (first.has(n) ? 0 : n.startsWith('validation ') ? 1 : n.startsWith('training ') ? 2 : 3);
  return [...found].map(([name, values]) => ({ name, values })).sort((a, b) => rank(a.name) - rank(b.name) || a.name.localeCompare(b.name));
}

// differing lists the fields of configurations and hyperparameters, those that differ or all. The
// hyperparameters are the trials' own, not the space that a search draws from.
export function differing(list: readonly Compared[], all: boolean): { name: string; values: (string | undefined)[] }[] {
  const fields = new Map<string, (string | undefined)[]>();
  list.forEach((c, i) => {
    const { hyperparameters: _, ...config } = c.experiment.config;
    for (const [name, v] of [...flat(c.trial.hparams).map(([k, x]): [string, unknown] => [`hyperparameters.${k}`, x]), ...flat(config)]) {
      let values = fields.get(name);
      if (!values) fields.set(name, (values = list.map(() => undefined)));
      values[i] = plain(v);
    }
  });
  const first = (n: string) => (n.startsWith('hyperparameters.') ? 0 : 1);
  return [...fields].map(([name, values]) => ({ name, values })).filter((r) => all || new Set(r.values).size > 1).sort((a, b) => first(a.name) - first(b.name) || a.name.localeCompare(b.name));
}
