// How long work has waited or run. The master's startTime is the time of the submission.
import { duration } from './format';
import { bare, ended } from './states';

interface Work {
  state: string;
  startTime: string;
  duration?: number | null;
  progress?: number | null;
  bestTrialSearcherMetric?: number | null;
  checkpointCount?: number;
  totalBatchesProcessed?: number;
}

export const waits = (state: string): boolean => bare(state) === 'QUEUED';

const hasRun = (w: Work): boolean => !!w.progress || !!w.checkpointCount || !!w.totalBatchesProcessed || typeof w.bestTrialSearcherMetric === 'number';

const since = (w: Work, now: number): number => (now - Date.parse(w.startTime)) / 1000;

// waited is how many seconds work has waited that has not run yet; null: it has run, or runs.
export const waited = (w: Work, now: number): number | null => (waits(w.state) && !hasRun(w) ? since(w, now) : null);

// spent names a time of work, with the time: how long it has waited, runs or took.
export function spent(w: Work, now: number): { name: string; text: string } {
  if (ended(w.state)) return { name: 'Took', text: duration(w.duration) };
  const wait = waited(w, now);
  if (wait !== null) return { name: 'Waiting for', text: duration(wait) };
  const again = waits(w.state) ? 'waits again' : bare(w.state) === 'PAUSED' ? 'paused' : '';
  return again ? { name: 'Age', text: `${duration(since(w, now))}, ${again}` } : { name: 'Runs for', text: duration(since(w, now)) };
}
