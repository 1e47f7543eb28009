// Exports all matches of a list as a file: CSV for tables, JSON for programs.
import type { Query } from './api';
import { matches, maxMatches } from './matches';
import { say } from './toast';
import type { Experiment } from './types';

type Cell = string | number | boolean | null | undefined;

// csv writes rows in the format of RFC 4180. It adds an apostrophe before text that a spreadsheet would
// run as a formula.
export function csv(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cell = (v: Cell): string => {
    if (v === null || v === undefined) return '';
    if (typeof v !== 'string') return String(v);
    const safe = /^[=+\-@\t\r]/.test(v) && Number.isNaN(Number(v)) ? `'${v}` : v;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [head, ...rows].map((r) => r.map(cell).join(',')).join('\r\n') + '\r\n';
}

const fields: [string, (e: Experiment) => Cell][] = [
  ['id', (e) => e.id], ['name', (e) => e.name], ['description', (e) => e.description], ['state', (e) => e.state.replace('STATE_', '')], ['owner', (e) => e.username],
  ['workspace', (e) => e.workspaceName], ['project', (e) => e.projectName], ['labels', (e) => e.labels.join(';')], ['progress', (e) => e.progress],
  ['metric', (e) => e.searcherMetric], ['best', (e) => e.bestTrialSearcherMetric], ['best trial', (e) => e.bestTrialId], ['trials', (e) => e.numTrials], ['searcher', (e) => e.searcherType],
  ['checkpoints', (e) => e.checkpointCount], ['checkpoint bytes', (e) => e.checkpointSize], ['pool', (e) => e.resourcePool], ['started', (e) => e.startTime], ['ended', (e) => e.endTime],
  ['seconds', (e) => e.duration], ['archived', (e) => e.archived], ['forked from', (e) => e.forkedFrom],
];

export const experimentsAsCsv = (list: readonly Experiment[]): string => csv(fields.map(([name]) => name), list.map((e) => fields.map(([, value]) => value(e))));

export async function saveExperiments(as: 'csv' | 'json', query: Query, total: number): Promise<void> {
  if (total > maxMatches) say(`The first ${maxMatches.toLocaleString('en')} of ${total.toLocaleString('en')} are exported; narrow the filter for the others`);
  const list = await matches(query);
  const text = as === 'csv' ? experimentsAsCsv(list) : `${JSON.stringify(list, null, 2)}\n`;
  download(`experiments.${as}`, text, as === 'csv' ? 'text/csv;charset=utf-8' : 'application/json');
}

export function download(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const a = document.createElement('a');
  a.href = url;
  a.download = name;
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
