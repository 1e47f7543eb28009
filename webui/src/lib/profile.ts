// The system metrics of a trial's nodes: GPU, CPU, memory, disk and network.
import { pathOf, request, search } from './api';
import { streamProfilerMetrics, type GetTrialProfilerMetricsResponse } from './types';

export interface Measured {
  trial: number;
  name: string;
  agent: string;
  part: string; // a GPU, a disk; '': the node
  t: number[]; // seconds since 1970, in order
  y: number[];
}

// records reads a stream of JSON lines that has an end.
async function* records<T>(response: Response): AsyncGenerator<T> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    rest += value ?? '';
    const lines = rest.split('\n');
    rest = done ? '' : lines.pop()!;
    for (const line of lines) {
      if (!line.trim()) continue;
      const { result, error } = JSON.parse(line) as { result?: T; error?: { message?: string } };
      if (error) throw new Error(error.message ?? 'The stream ended with an error.');
      if (result) yield result;
    }
    if (done) return;
  }
}

// measured reads the system metrics of a trial, or a sample if there are many reports, as a series for each GPU, disk or node.
export async function measured(trial: number, signal?: AbortSignal): Promise<Measured[]> {
  const r = await request(pathOf(streamProfilerMetrics, trial) + search({ sample: true }), signal ? { signal } : {});
  const found = new Map<string, Measured>();
  for await (const { batch: b } of records<GetTrialProfilerMetricsResponse>(r)) {
    const { name, agentId, gpuUuid } = b.labels;
    const key = JSON.stringify([name, agentId, gpuUuid]);
    let s = found.get(key);
    if (!s) found.set(key, (s = { trial, name, agent: agentId, part: gpuUuid, t: [], y: [] }));
    b.values.forEach((v, i) => {
      s.t.push(Date.parse(b.timestamps[i]!) / 1000);
      s.y.push(v);
    });
  }
  return [...found.values()].map(ordered).sort((a, b) => a.agent.localeCompare(b.agent) || a.part.localeCompare(b.part));
}

function ordered(s: Measured): Measured {
  const order = s.t.map((_, i) => i).sort((a, b) => s.t[a]! - s.t[b]!);
  return { ...s, t: order.map((i) => s.t[i]!), y: order.map((i) => s.y[i]!) };
}

const buckets = 400;

// thin divides a series into buckets of equal time and keeps the minimum and the maximum of each.
export function thin(t: readonly number[], y: readonly number[], most = buckets): { x: number[]; y: number[] } {
  if (t.length <= 2 * most) return { x: t.slice(), y: y.slice() };
  const first = t[0]!, width = ((t[t.length - 1]! - first) * (1 + 1e-9)) / most || 1; // the last point is in the last bucket
  const x: number[] = [], out: number[] = [];
  for (let begin = 0; begin < t.length; ) {
    const edge = first + (Math.floor((t[begin]! - first) / width) + 1) * width;
    let end = begin, low = begin, high = begin;
    for (; end < t.length && (t[end]! < edge || end === begin); end++) {
      if (y[end]! < y[low]!) low = end;
      if (y[end]! > y[high]!) high = end;
    }
    for (const i of low === high ? [low] : [Math.min(low, high), Math.max(low, high)]) {
      x.push(t[i]!);
      out.push(y[i]!);
    }
    begin = end;
  }
  return { x, y: out };
}

// mean merges several series into one, with the mean of all their points in each bucket of time. x is in
// seconds after begin.
export function mean(list: readonly Measured[], begin: number, most = 2 * buckets): { x: number[]; y: number[] } {
  const last = Math.max(...list.map((s) => s.t[s.t.length - 1] ?? begin));
  const width = Math.max(1, (last - begin) / most);
  const sums = new Map<number, [number, number]>();
  for (const s of list) {
    s.t.forEach((t, i) => {
      const b = Math.max(0, Math.floor((t - begin) / width));
      const x = sums.get(b);
      if (x) {
        x[0] += s.y[i]!;
        x[1]++;
      } else sums.set(b, [s.y[i]!, 1]);
    });
  }
  const order = [...sums].sort(([a], [b]) => a - b);
  return { x: order.map(([b]) => Math.round((b + 0.5) * width * 10) / 10), y: order.map(([, [sum, n]]) => sum / n) };
}

interface Named {
  title: string;
  unit: string;
  of: 'GPU' | 'CPU' | 'Memory' | 'Disk' | 'Network';
}

// The metrics that the harness reports (plugins/harness/determined/core/_probes.py).
const known: Record<string, Named> = {
  gpu_util: { title: 'GPU use', unit: '%', of: 'GPU' },
  gpu_free_memory: { title: 'Free GPU memory', unit: 'bytes', of: 'GPU' },
  cpu_util_simple: { title: 'CPU use', unit: '%', of: 'CPU' },
  memory_free: { title: 'Free memory', unit: 'bytes', of: 'Memory' },
  disk_throughput_read: { title: 'Read from disk', unit: 'bytes/s', of: 'Disk' },
  disk_throughput_write: { title: 'Written to disk', unit: 'bytes/s', of: 'Disk' },
  disk_iops: { title: 'Disk operations', unit: '1/s', of: 'Disk' },
  disk_util: { title: 'Disk use', unit: '%', of: 'Disk' },
  net_throughput_sent: { title: 'Sent', unit: 'bytes/s', of: 'Network' },
  net_throughput_recv: { title: 'Received', unit: 'bytes/s', of: 'Network' },
};
const order = ['GPU', 'CPU', 'Memory', 'Disk', 'Network'];

// titleOf is the title of a metric with its unit; a metric of another name has that name as its title.
export const titleOf = (name: string): string => (known[name] ? `${known[name].title}, ${known[name].unit}` : name);

// inOrder sorts the names of metrics: known ones by group, then all others by name.
export function inOrder(names: Iterable<string>): string[] {
  const all = Object.keys(known);
  const rank = (n: string) => (known[n] ? order.indexOf(known[n].of) * 100 + all.indexOf(n) : 1000);
  return [...new Set(names)].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}
