// The triggers of a webhook, as text and as fields of a form.
import type { Trigger } from './types';

const type = (name: string) => `TRIGGER_TYPE_${name}`;

export const states = ['ACTIVE', 'PAUSED', 'COMPLETED', 'CANCELED', 'ERROR'];

export interface Wanted {
  states: string[];
  pattern: string;
  metric: string; // validation/accuracy>0.9
  custom: boolean;
}

// metricTrigger reads "accuracy > 0.9" or "training/loss < 0.1"; null if it is neither.
export function metricTrigger(text: string): Record<string, unknown> | null {
  const m = /^\s*(?:([^/<>]+?)\s*\/)?\s*([^<>]+?)\s*([<>])\s*([-+.\deE]+)\s*$/.exec(text);
  if (!m || !Number.isFinite(Number(m[4]))) return null;
  return { metric: m[2], ...(m[1] ? { group: m[1] } : {}), [m[3] === '>' ? 'above' : 'below']: Number(m[4]) };
}

export function triggersOf(w: Wanted): Trigger[] {
  const one = (name: string, condition: Record<string, unknown>): Trigger => ({ id: 0, webhookId: 0, triggerType: type(name), condition });
  const list = w.states.map((state) => one('EXPERIMENT_STATE_CHANGE', { state }));
  if (w.pattern) list.push(one('TASK_LOG', { regex: w.pattern }));
  if (w.metric.trim()) {
    const condition = metricTrigger(w.metric);
    if (!condition) throw new Error('Metric: expected a name and a limit, such as accuracy > 0.9 or training/loss < 0.1.');
    list.push(one('METRIC_THRESHOLD_EXCEEDED', condition));
  }
  if (w.custom) list.push(one('CUSTOM', {}));
  if (!list.length) throw new Error('Choose at least one event.');
  return list;
}

// said describes a trigger, as the end of "The webhook fires when …".
export function said(t: Pick<Trigger, 'triggerType' | 'condition'>): string {
  const c = t.condition ?? {};
  switch (t.triggerType) {
    case type('EXPERIMENT_STATE_CHANGE'):
      return c.state === 'ERROR' ? 'an experiment fails' : `an experiment is ${String(c.state ?? '').toLowerCase()}`;
    case type('TASK_LOG'):
      return `a line of a log matches ${c.regex}`;
    case type('METRIC_THRESHOLD_EXCEEDED'):
      return `${c.group ?? 'validation'}/${c.metric} ${c.above !== undefined ? `> ${c.above}` : `< ${c.below}`}`;
    case type('CUSTOM'):
      return 'a program calls it';
  }
  return t.triggerType.replace('TRIGGER_TYPE_', '').toLowerCase();
}
