// The client of the master's API: requests of the same origin, with the session's cookie.
import { inQueue } from './queue';
import * as wire from './types';
import type { Endpoint, Info, Notebook } from './types';

// ApiError has the error message and, if it is known, what to do.
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

// search writes query parameters. It repeats the name for each value of a list, and omits empty values.
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

// onSignedOut is called when the session has ended.
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

// pathOf replaces the names in a path by values, in their order.
export function pathOf(e: { path: string }, ...values: (string | number)[]): string {
  let i = 0;
  return e.path.replace(/:\w+/g, () => encodeURIComponent(String(values[i++])));
}

interface Call<Req> {
  path?: (string | number)[]; // the values of the names in the path
  query?: Query;
  body?: Req;
  signal?: AbortSignal | undefined;
}

// call sends a request to an endpoint of the master's table, and returns the answer.
export async function call<Req, Resp>(e: Endpoint<Req, Resp>, { path = [], query = {}, body, signal }: Call<Req> = {}): Promise<Resp> {
  const init: RequestInit = { method: e.method };
  if (signal) init.signal = signal;
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { 'Content-Type': 'application/json' };
  }
  const r = await request(pathOf(e, ...path) + search(query), init);
  return (await r.json().catch((error) => {
    if (e.method === 'GET') throw error;
    return {};
  })) as Resp;
}

// whole reads all rows of a list. The master sends a page at a time, and pages with long texts have fewer rows
// than asked for.
export async function whole<T>(page: (query: Query) => Promise<{ rows: readonly T[]; pagination: { total: number } | null }>): Promise<T[]> {
  const all: T[] = [];
  for (;;) {
    const { rows, pagination } = await page({ offset: all.length, limit: 1000 });
    all.push(...rows);
    if (rows.length === 0 || all.length >= (pagination?.total ?? 0)) return all;
  }
}

// The common fields of commands, notebooks, shells and TensorBoards.
export type Task = Omit<Notebook, 'serviceAddress' | 'container'> & {
  serviceAddress?: string; experimentIds?: number[]; trialIds?: number[];
  parentId?: string | null; noPause?: boolean; taskState?: string; // of generic tasks
};
export type AnyKind = TaskKind | 'generics';
export type TaskKind = 'notebooks' | 'shells' | 'tensorboards' | 'commands';
export const taskKinds: TaskKind[] = ['notebooks', 'tensorboards', 'shells', 'commands'];
export const allKinds: AnyKind[] = [...taskKinds, 'generics'];

const newest: Query = { orderBy: 'ORDER_BY_DESC', sortBy: 'SORT_BY_START_TIME' };
const generics = async (signal?: AbortSignal): Promise<Task[]> => (await call(wire.listGenericTasks, { query: { ...newest, limit: 1000 }, signal })).tasks;
const tasks: Record<AnyKind, (signal?: AbortSignal) => Promise<Task[]>> = {
  notebooks: async (signal) => (await call(wire.listNotebooks, { query: newest, signal })).notebooks,
  shells: async (signal) => (await call(wire.listShells, { query: newest, signal })).shells,
  tensorboards: async (signal) => (await call(wire.listTensorboards, { query: newest, signal })).tensorboards,
  commands: async (signal) => (await call(wire.listCommands, { query: newest, signal })).commands,
  generics,
};
const oneTask: Record<TaskKind, (id: string, signal?: AbortSignal) => Promise<Task>> = {
  notebooks: async (id, signal) => (await call(wire.getNotebook, { path: [id], signal })).notebook,
  shells: async (id, signal) => (await call(wire.getShell, { path: [id], signal })).shell,
  tensorboards: async (id, signal) => (await call(wire.getTensorboard, { path: [id], signal })).tensorboard,
  commands: async (id, signal) => (await call(wire.getCommand, { path: [id], signal })).command,
};
const kills: Record<TaskKind, Endpoint<undefined, unknown>> = {
  notebooks: wire.killNotebook, shells: wire.killShell, tensorboards: wire.killTensorboard, commands: wire.killCommand,
};
const acts = {
  activate: wire.activateExperiment, pause: wire.pauseExperiment, cancel: wire.cancelExperiment, kill: wire.killExperiment,
  archive: wire.archiveExperiment, unarchive: wire.unarchiveExperiment,
};
export type Act = keyof typeof acts;

export const api = {
  info: (): Promise<Info> => call(wire.getInfo),
  message: async () => (await call(wire.getMaster)).clusterMessage,
  login: (username: string, password: string) => call(wire.login, { body: { username, password } }),
  logout: () => call(wire.logout),
  me: async () => (await call(wire.getMe)).user,
  users: async () => (await call(wire.listUsers)).users,

  experiments: (query: Query, signal?: AbortSignal) => call(wire.listExperiments, { query, signal }),
  search: async (body: wire.SearchExperimentsRequest, signal?: AbortSignal) => {
    const found = await call(wire.searchExperiments, { body, signal });
    return { experiments: found.experiments.flatMap((e) => (e.experiment ? [e.experiment] : [])), pagination: found.pagination };
  },
  experiment: (id: number, signal?: AbortSignal) => call(wire.getExperiment, { path: [id], signal }),
  act: (id: number, verb: Act) => call(acts[verb], { path: [id] }),
  deleteExperiment: (id: number) => call(wire.deleteExperiment, { path: [id] }),
  trials: (id: number, query: Query = {}, signal?: AbortSignal) => call(wire.listTrials, { path: [id], query, signal }),
  checkpoints: (id: number, signal?: AbortSignal) => call(wire.listExperimentCheckpoints, { path: [id], query: { limit: 1000 }, signal }),
  trialCheckpoints: (id: number, signal?: AbortSignal) => call(wire.listTrialCheckpoints, { path: [id], query: { limit: 1000 }, signal }),
  codeTree: (id: number, signal?: AbortSignal) => call(wire.getModelDefTree, { path: [id], signal }),
  searchTrials: (id: number, query: Query, signal?: AbortSignal) => call(wire.listSearchTrials, { path: [id], query, signal }),
  attempts: (id: number, query: Query = {}, signal?: AbortSignal) => call(wire.listExperimentAttempts, { path: [id], query, signal }),
  taskAttempts: (id: string, signal?: AbortSignal) => call(wire.listTaskAttempts, { path: [id], query: { limit: 100 }, signal }),
  trial: async (id: number, signal?: AbortSignal) => (await call(wire.getTrial, { path: [id], signal })).trial,
  killTrial: (id: number) => call(wire.killTrial, { path: [id] }),
  curves: async (query: Query, signal?: AbortSignal) => (await call(wire.getTimeSeries, { query, signal })).trials,

  tasks: (kind: AnyKind, signal?: AbortSignal) => tasks[kind](signal),
  oneTask: (kind: TaskKind, id: string, signal?: AbortSignal) => oneTask[kind](id, signal),
  killTask: (kind: AnyKind, id: string, fromRoot = false): Promise<unknown> =>
    (kind === 'generics' ? call(wire.killGenericTask, { path: [id], body: { taskId: id, killFromRoot: fromRoot } }) : call(kills[kind], { path: [id] })),
  // taskAddress has the origin of these pages, because the master may be known by another one.
  taskAddress: async (id: string) => `${location.origin}/proxy/${id}/?token=${(await call(wire.addressTask, { path: [id] })).token}`,
  // taskLink is an address that opens the task once.
  taskLink: async (id: string) => (await call(wire.linkTask, { path: [id] })).url,
  pauseTask: (id: string, on: boolean) => call(on ? wire.pauseGenericTask : wire.unpauseGenericTask, { path: [id] }),
  task: async (id: string, signal?: AbortSignal) => (await call(wire.getTask, { path: [id], signal })).task,
  liveTasks: async (signal?: AbortSignal) => (await call(wire.listTasks, { signal })).allocationIdToSummary,

  models: (query: Query, signal?: AbortSignal) => call(wire.listModels, { query, signal }),
  model: async (name: string, signal?: AbortSignal) => (await call(wire.getModel, { path: [name], signal })).model,
  createModel: async (body: wire.PostModelRequest) => (await call(wire.createModel, { body })).model,
  changeModel: async (id: number, body: wire.PatchModel) => (await call(wire.changeModel, { path: [id], body })).model,
  archiveModel: (id: number, archived: boolean) => call(archived ? wire.archiveModel : wire.unarchiveModel, { path: [id] }),
  deleteModel: (id: number) => call(wire.deleteModel, { path: [id] }),
  versions: (name: string, signal?: AbortSignal) => call(wire.listModelVersions, { path: [name], query: { limit: 1000, sortBy: 'SORT_BY_VERSION', orderBy: 'ORDER_BY_DESC' }, signal }),
  register: async (id: number, body: wire.PostModelVersionRequest) => (await call(wire.createModelVersion, { path: [id], body })).modelVersion,
  changeVersion: (id: number, version: number, body: wire.PatchModelVersion) => call(wire.changeModelVersion, { path: [id, version], body }),
  deleteVersion: (id: number, version: number) => call(wire.deleteModelVersion, { path: [id, version] }),
  workspaces: (signal?: AbortSignal) => whole(async (query) => { const { workspaces: rows, pagination } = await call(wire.listWorkspaces, { query, signal }); return { rows, pagination }; }),

  pools: async (signal?: AbortSignal) => (await call(wire.listPools, { signal })).resourcePools,
  agents: async (signal?: AbortSignal) => (await call(wire.listAgents, { query: { includeLost: true }, signal })).agents,
  measurements: async (node: string, signal?: AbortSignal) => (await call(wire.measureNode, { path: [node], signal })).devices,
  nodeAttempts: (node: string, query: Query, signal?: AbortSignal) => call(wire.listNodeAttempts, { path: [node], query, signal }),
  queue: async (signal?: AbortSignal) => (await call(wire.listJobs, { signal })).jobs.flatMap(inQueue),
};
