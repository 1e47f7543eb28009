// The master's interface: requests of the same origin, carried by the session's cookie.
import type {
  Agent, Allocation, AllocationSummary, Checkpoint, DataPoint, Experiment, Job, MasterInfo, Pagination, Pool, Task, Trial, User,
} from './types';

// ApiError says what went wrong and, where it is known, what to do.
export class ApiError extends Error {
  constructor(
    readonly status: number, // 0: nobody answered
    message: string,
  ) {
    super(message);
  }
  get away(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

export type Query = Record<string, string | number | boolean | undefined | null | readonly (string | number)[]>;

// search writes parameters; lists are repeated, what is empty is left out.
export function search(query: Query): string {
  const p = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) value.forEach((v) => p.append(name, String(v)));
    else if (value !== undefined && value !== null && value !== '') p.append(name, String(value));
  }
  const s = p.toString();
  return s ? `?${s}` : '';
}

let whenSignedOut: () => void = () => {};

// onSignedOut is called when the master does not know the session any more.
export function onSignedOut(fn: () => void): void {
  whenSignedOut = fn;
}

export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { credentials: 'same-origin', ...init });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, 'The master does not answer. Running work continues; this page retries automatically.');
  }
  if (response.ok) return response;
  const error = new ApiError(response.status, await reason(response));
  if (response.status === 401 && !path.endsWith('/auth/login')) whenSignedOut();
  throw error;
}

async function reason(response: Response): Promise<string> {
  try {
    const body = await response.json();
    const message: unknown = body?.error?.error || body?.message || body?.error?.message;
    if (typeof message === 'string' && message) return message;
  } catch {
    // not of the master, or broken off
  }
  if (response.status >= 502) return 'A proxy between this browser and the master reports that the master is down. Running work continues.';
  return `The master answered ${response.status}.`;
}

async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const r = await request(`/api/v1${path}${search(query)}`, signal ? { signal } : {});
  return (await r.json()) as T;
}

async function post<T>(path: string, body?: unknown, method = 'POST', signal?: AbortSignal): Promise<T> {
  const init: RequestInit = signal ? { method, signal } : { method };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { 'Content-Type': 'application/json' };
  }
  const r = await request(`/api/v1${path}`, init);
  return (await r.json().catch(() => ({}))) as T;
}

export type TaskKind = 'notebooks' | 'shells' | 'tensorboards' | 'commands';
export const taskKinds: TaskKind[] = ['notebooks', 'tensorboards', 'shells', 'commands'];

export interface Curve {
  trial: Trial;
  metrics: { group: string; data: DataPoint[] }[];
}

export const api = {
  info: async (): Promise<MasterInfo> => (await request('/info')).json(),
  login: (username: string, password: string) => post<{ user: User }>('/auth/login', { username, password }),
  logout: () => post('/auth/logout'),
  me: async () => (await get<{ user: User }>('/me')).user,
  users: async () => (await get<{ users: User[] }>('/users')).users,

  experiments: (query: Query, signal?: AbortSignal) =>
    get<{ experiments: Experiment[]; pagination: Pagination }>('/experiments', query, signal),
  search: async (query: Query, signal?: AbortSignal) => {
    const body = await post<{ experiments: { experiment: Experiment }[]; pagination: Pagination }>('/experiments-search', query, 'POST', signal);
    return { experiments: body.experiments.map((e) => e.experiment), pagination: body.pagination };
  },
  experiment: (id: number, signal?: AbortSignal) =>
    get<{ experiment: Experiment; jobSummary: Job['summary']; remarks?: string[] }>(`/experiments/${id}`, {}, signal),
  act: (id: number, verb: string) => post(`/experiments/${id}/${verb}`),
  deleteExperiment: (id: number) => post(`/experiments/${id}`, undefined, 'DELETE'),
  trials: (id: number, query: Query = {}, signal?: AbortSignal) =>
    get<{ trials: Trial[]; pagination: Pagination }>(`/experiments/${id}/trials`, query, signal),
  checkpoints: (id: number, signal?: AbortSignal) =>
    get<{ checkpoints: Checkpoint[]; pagination: Pagination }>(`/experiments/${id}/checkpoints`, { limit: 1000 }, signal),
  trial: async (id: number, signal?: AbortSignal) => (await get<{ trial: Trial }>(`/trials/${id}`, {}, signal)).trial,
  killTrial: (id: number) => post(`/trials/${id}/kill`),
  curves: async (query: Query, signal?: AbortSignal) => (await get<{ trials: Curve[] }>('/trials/time-series', query, signal)).trials,

  tasks: async (kind: TaskKind, signal?: AbortSignal): Promise<Task[]> => {
    const body = await get<Record<string, Task[]>>(`/${kind}`, { orderBy: 'ORDER_BY_DESC', sortBy: 'SORT_BY_START_TIME' }, signal);
    return body[kind] ?? [];
  },
  killTask: (kind: TaskKind, id: string) => post(`/${kind}/${encodeURIComponent(id)}/kill`),
  task: async (id: string, signal?: AbortSignal) =>
    (await get<{ task: { taskId: string; taskType: string; allocations: Allocation[] } }>(`/tasks/${encodeURIComponent(id)}`, {}, signal)).task,
  oneTask: async (kind: TaskKind, id: string, signal?: AbortSignal): Promise<Task> => {
    const body = await get<Record<string, Task>>(`/${kind}/${encodeURIComponent(id)}`, {}, signal);
    return body[kind.slice(0, -1)] as Task;
  },
  liveTasks: async (signal?: AbortSignal) =>
    (await get<{ allocationIdToSummary: Record<string, AllocationSummary> }>('/tasks', {}, signal)).allocationIdToSummary,

  pools: async (signal?: AbortSignal) => (await get<{ resourcePools: Pool[] }>('/resource-pools', {}, signal)).resourcePools,
  agents: async (signal?: AbortSignal) => (await get<{ agents: Agent[] }>('/agents', {}, signal)).agents,
  queue: async (signal?: AbortSignal) =>
    (await get<{ jobs: { full?: Job }[] }>('/job-queues-v2', {}, signal)).jobs.flatMap((j) => (j.full ? [j.full] : [])),
};
