// The attempts of an experiment over time: the phases of each attempt with their times.
import type { Attempt } from './types';

export type Phase = 'queued' | 'starting' | 'running' | 'leaving';

export interface Span {
  phase: Phase;
  from: number; // milliseconds since 1970
  to: number;
}

export interface Line {
  attempt: Attempt;
  spans: Span[];
}

export interface Lane {
  key: string; // a trial or a task
  trial: number;
  lines: Line[]; // the oldest first
}

const at = (iso: string | null): number | null => (iso ? Date.parse(iso) : null);

// spansOf divides an attempt into phases: waiting in the queue, starting on its nodes, running, and ending
// after a request to stop.
export function spansOf(a: Attempt, now: number): Span[] {
  const end = at(a.endTime) ?? now;
  const queued = at(a.queuedTime)!;
  const assigned = at(a.assignedTime), started = at(a.startTime);
  const told = [at(a.preemptTime), at(a.killTime)].filter((t): t is number => t !== null && t < end).sort((x, y) => x - y)[0] ?? null;
  const points: [number, Phase][] = [[queued, 'queued']];
  if (assigned !== null) points.push([assigned, 'starting']);
  if (started !== null) points.push([started, 'running']);
  if (told !== null && started !== null) points.push([Math.max(told, started), 'leaving']);
  return points.map(([from, phase], i) => ({ phase, from, to: Math.max(from, points[i + 1]?.[0] ?? end) })).filter((s) => s.to > s.from);
}

// lanesOf groups attempts by trial, the trial that began last at the end.
export function lanesOf(list: readonly Attempt[], now: number): Lane[] {
  const lanes = new Map<string, Lane>();
  for (const a of [...list].sort((x, y) => Date.parse(x.queuedTime) - Date.parse(y.queuedTime) || x.run - y.run)) {
    const key = a.trialId ? `trial ${a.trialId}` : a.taskId; // a trial that was continued has several tasks
    let lane = lanes.get(key);
    if (!lane) lanes.set(key, (lane = { key, trial: a.trialId, lines: [] }));
    lane.lines.push({ attempt: a, spans: spansOf(a, now) });
  }
  return [...lanes.values()];
}

export function rangeOf(lanes: readonly Lane[], now: number): [number, number] {
  let from = Infinity, to = -Infinity;
  for (const l of lanes) {
    for (const x of l.lines) {
      from = Math.min(from, Date.parse(x.attempt.queuedTime));
      to = Math.max(to, at(x.attempt.endTime) ?? now);
    }
  }
  return from < to ? [from, to] : [now - 60_000, now];
}

// The reasons with which a search ends a trial, as in master/lifecycle/trial.go.
const trained = 'it has trained to the end', stopped = 'the search stopped the trial early';

// ending describes briefly how an attempt ended, and why.
export function ending(a: Attempt): { word: string; kind: 'good' | 'bad' | 'hold' | 'off' | 'run' | 'wait'; why: string } {
  const why = a.outcome === 'preempted' ? a.preemptReason || a.exitReason : a.outcome === 'killed' ? a.killReason || a.exitReason : a.exitReason || a.killReason || a.preemptReason;
  switch (a.outcome) {
    case 'completed':
      return { word: 'completed', kind: 'good', why: a.preemptReason };
    case 'preempted':
      if (why === trained) return { word: 'completed', kind: 'good', why };
      if (why === stopped) return { word: 'stopped', kind: 'off', why };
      return { word: 'preempted', kind: 'hold', why };
    case 'killed':
      return { word: 'killed', kind: 'off', why };
    case 'failed':
    case 'lost':
    case 'refused':
    case 'unplaced':
      return { word: a.outcome, kind: 'bad', why };
  }
  const word = a.state.replace(/^STATE_/, '').toLowerCase();
  return { word, kind: word === 'running' ? 'run' : 'wait', why: a.preemptReason ? `asked to leave: ${a.preemptReason}` : a.killReason || a.waitingReason };
}
