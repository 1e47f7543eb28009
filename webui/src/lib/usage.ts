// Accounting over time: slot hours of days or months, by what the master adds them up.
import { call, pathOf, search } from './api';
import { getAggregatedUsage, getAggregatedUsageCSV, type ResourceAllocationAggregatedEntry as Entry } from './types';

export const groups = {
  workspace: { title: 'Workspace', of: (e: Entry) => e.byWorkspace },
  user: { title: 'User', of: (e: Entry) => e.byUsername },
  pool: { title: 'Pool', of: (e: Entry) => e.byResourcePool },
  project: { title: 'Project', of: (e: Entry) => e.byProject },
  label: { title: 'Label', of: (e: Entry) => e.byExperimentLabel },
  gpu: { title: 'GPU model', of: (e: Entry) => e.byGpuModel },
  kind: { title: 'Kind of task', of: (e: Entry) => e.byTaskType },
} as const;
export type By = keyof typeof groups;

export const byOf = (text: string | null): By => (text && Object.hasOwn(groups, text) ? (text as By) : 'workspace');

// A Span is days, or months if it is too long for days. Both ends belong to it.
export interface Span {
  from: string; // 2026-01-31
  until: string;
  monthly: boolean;
  problem?: string;
}

const day = 86_400_000;
const usual = 30; // days
const maxDays = 100; // that are shown one by one
const maxMonths = 120; // the master adds up at most ten years

const date = (ms: number) => new Date(ms).toISOString().slice(0, 10);
// dateAt is the start of a day; a date that does not exist, such as 2026-02-30, is none.
const dateAt = (text: string): number => {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : NaN;
  return !Number.isNaN(ms) && date(ms) === text ? ms : NaN;
};

// last are so many days up to today. Days begin at midnight UTC, as in the accounting.
export const last = (days: number, now: number): { from: string; until: string } => ({ from: date(now - (days - 1) * day), until: date(now) });

export function spanOf(from: string | null, until: string | null, now: number): Span {
  const span = { ...last(usual, now), monthly: false, ...(from ? { from } : {}), ...(until ? { until } : {}) };
  const [a, b] = [dateAt(span.from), dateAt(span.until)];
  if (Number.isNaN(a) || Number.isNaN(b)) return { ...span, problem: `${Number.isNaN(a) ? span.from : span.until} is not a date; expected one such as 2026-01-31.` };
  if (a > b) return { ...span, problem: 'The first day is after the last one.' };
  const monthly = (b - a) / day + 1 > maxDays;
  if (monthly && monthsOf(span.from, span.until).length > maxMonths) return { ...span, monthly, problem: 'More than ten years; choose a shorter time.' };
  return { ...span, monthly };
}

const query = (s: Span) => ({
  startDate: s.monthly ? s.from.slice(0, 7) : s.from,
  endDate: s.monthly ? s.until.slice(0, 7) : s.until,
  period: `RESOURCE_ALLOCATION_AGGREGATION_PERIOD_${s.monthly ? 'MONTHLY' : 'DAILY'}`,
});

export const read = async (s: Span, signal?: AbortSignal): Promise<Entry[]> => (await call(getAggregatedUsage, { query: query(s), signal })).resourceEntries ?? [];

// table is the address of the same sums as CSV.
export const table = (s: Span): string => pathOf(getAggregatedUsageCSV) + search(query(s));

function monthsOf(from: string, until: string): string[] {
  const months: string[] = [];
  for (let [y, m] = from.slice(0, 7).split('-').map(Number) as [number, number]; months.length <= maxMonths + 1; m === 12 ? (y++, m = 1) : m++) {
    const month = `${String(y).padStart(4, '0')}-${String(m).padStart(2, '0')}`;
    if (month > until.slice(0, 7)) break;
    months.push(month);
  }
  return months;
}

// periods are all days or months of a span, also those without usage.
export function periods(s: Span): string[] {
  if (s.monthly) return monthsOf(s.from, s.until);
  const days: string[] = [];
  for (let at = dateAt(s.from); at <= dateAt(s.until); at += day) days.push(date(at));
  return days;
}

// A Share is what one name held.
export interface Share {
  name: string;
  hours: number;
  part: number; // of all that is shown, 0 to 1
  values: number[]; // hours of each period
  color: number; // in the chart, 1 to 8; 8: with all the others
}

export interface Sums {
  periods: string[];
  shares: Share[]; // the largest first
  totals: number[]; // hours of each period
  hours: number; // of all periods
}

export const coloured = 7;

// sums adds up by a kind of names. An experiment counts for each of its labels, so the shares of labels may
// be more than the total.
export function sums(entries: readonly Entry[], span: Span, by: By): Sums {
  const all = periods(span);
  const place = new Map(all.map((p, i) => [p, i]));
  const totals = all.map(() => 0);
  const found = new Map<string, number[]>();
  for (const e of entries) {
    const i = place.get(e.periodStart);
    if (i === undefined) continue;
    totals[i] = e.seconds / 3600;
    for (const [name, seconds] of Object.entries(groups[by].of(e) ?? {})) {
      let values = found.get(name);
      if (!values) found.set(name, (values = all.map(() => 0)));
      values[i] = seconds / 3600;
    }
  }
  const sum = (values: readonly number[]) => values.reduce((a, v) => a + v, 0);
  const hours = sum(totals);
  const shares = [...found].map(([name, values]) => ({ name, values, hours: sum(values) }))
    .sort((a, b) => b.hours - a.hours || a.name.localeCompare(b.name))
    .map((s, i): Share => ({ ...s, part: hours > 0 ? s.hours / hours : 0, color: i < coloured ? i + 1 : 8 }));
  return { periods: all, shares, totals, hours };
}

// A Layer of the chart: its hours of each period.
export interface Layer {
  name: string;
  color: number;
  values: number[];
}

// layers are the largest shares and one for all others.
export function layers(s: Sums): Layer[] {
  const few = s.shares.slice(0, coloured).map(({ name, color, values }): Layer => ({ name, color, values }));
  const others = s.shares.slice(coloured);
  if (others.length === 0) return few;
  return [...few, { name: `${others.length.toLocaleString('en')} others`, color: 8, values: s.periods.map((_, i) => others.reduce((a, o) => a + o.values[i]!, 0)) }];
}

// hoursOf writes slot hours: 0.02, 3.4, 128, 12,345.
export function hoursOf(h: number): string {
  if (h === 0) return '0';
  if (h < 0.01) return '< 0.01';
  return h.toLocaleString('en', { maximumFractionDigits: h < 1 ? 2 : h < 100 ? 1 : 0 });
}

// ticks are round numbers from 0 to at least a maximum.
export function ticks(max: number, wanted = 4): number[] {
  if (!(max > 0) || !Number.isFinite(max)) return [0, 1];
  const raw = max / wanted;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * unit).find((s) => s >= raw * (1 - 1e-9))!;
  const n = Math.ceil(max / step - 1e-9);
  return Array.from({ length: n + 1 }, (_, i) => i * step);
}
