// The log of a task or a trial: the last lines first, then new lines as they arrive, and older lines when
// the user scrolls up. Lines have numbers, so a line that arrives twice is recognised.
import { ApiError, pathOf, request, search, type Query } from './api';
import { streamTaskLogs, streamTrialLogs, type TaskLogsResponse } from './types';

export const page = 1000;
export const most = 200_000; // lines kept; beyond, the oldest go

export interface Line {
  n: number;
  at: string;
  level: string;
  rank?: number;
  node: string;
  stderr: boolean;
  text: string;
}

export function toLine(l: Omit<TaskLogsResponse, 'message' | 'taskId'>): Line {
  const line: Line = { n: Number(l.id), at: l.timestamp, level: l.level.replace('LOG_LEVEL_', ''), node: l.agentId ?? '', stderr: l.stdtype === 'stderr', text: l.log.replace(/\n$/, '') };
  if (l.rankId !== undefined) line.rank = l.rankId;
  return line;
}

// records reads a stream of JSON lines, {"result": …} each, in lots as they arrive.
export async function records<T>(body: ReadableStream<Uint8Array>, each: (lot: T[]) => void): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (value ?? '')).split('\n');
    rest = done ? '' : (lines.pop() ?? '');
    const lot: T[] = [];
    for (const line of lines) {
      if (!line.trim()) continue;
      const record = JSON.parse(line) as { result?: T; error?: { message?: string; httpCode?: number } };
      if (record.error) throw new ApiError(record.error.httpCode ?? 500, record.error.message ?? 'The log ended unexpectedly.');
      if (record.result) lot.push(record.result);
    }
    if (lot.length) each(lot);
    if (done) return;
  }
}

// logOfTask and logOfTrial are the paths of logs. A trial has a task for each time that it was continued, and its log has the lines of all.
export const logOfTask = (id: string): string => pathOf(streamTaskLogs, id);
export const logOfTrial = (id: number): string => pathOf(streamTrialLogs, id);

export async function read(log: string, query: Query, signal: AbortSignal, each: (lines: Line[]) => void): Promise<void> {
  const r = await request(log + search(query), { signal });
  if (r.body) await records<TaskLogsResponse>(r.body, (lot) => each(lot.map(toLine)));
}

// merge adds lines in the order of their numbers, and drops lines that exist already.
// Nearly always all new lines come after the existing ones, or all before.
export function merge(have: Line[], more: Line[]): Line[] {
  if (more.length === 0) return have;
  const first = have[0];
  const last = have[have.length - 1];
  const sorted = more.every((l, i) => i === 0 || more[i - 1]!.n < l.n) ? more : [...more].sort((a, b) => a.n - b.n);
  let out: Line[];
  if (!first || !last) out = sorted;
  else if (sorted[0]!.n > last.n) out = have.concat(sorted);
  else if (sorted[sorted.length - 1]!.n < first.n) out = sorted.concat(have);
  else {
    const by = new Map<number, Line>();
    for (const l of have) by.set(l.n, l);
    for (const l of sorted) by.set(l.n, l);
    if (by.size === have.length) return have;
    out = [...by.values()].sort((a, b) => a.n - b.n);
  }
  return out.length > most ? out.slice(out.length - most) : out;
}

// since returns the time from which a follower requests lines: a little before the last
// line, because ranks write at the same time and their lines do not arrive in the order of
// their times.
export function since(lines: readonly Line[]): string | undefined {
  const last = lines[lines.length - 1];
  return last ? new Date(Date.parse(last.at) - 60_000).toISOString() : undefined;
}
