// The audit trail: which entries to ask for, and what an entry says in words.
import { call, type Query } from './api';
import { listAudit, type AuditEntry, type AuditResponse } from './types';

export const verbs = ['create', 'edit', 'change', 'delete', 'assign', 'enter', 'view', 'administer', 'login', 'logout'];
export const kinds = ['experiment', 'trial', 'checkpoint', 'notebook', 'shell', 'command', 'tensorboard', 'task', 'job', 'model', 'template', 'webhook', 'project', 'workspace', 'user', 'group', 'role', 'access token', 'session', 'pool', 'agent', 'cluster'];

export const maxExported = 100_000;
const page = 1000; // what the master sends at once

// The names of the filters, in the address of the page and in the query.
const names = ['username', 'verb', 'kind', 'object', 'since', 'until', 'failed'] as const;

// asked are the filters of an address. A time that is none is left out.
export function asked(p: URLSearchParams): Query {
  const q: Record<string, string> = {};
  for (const name of names) {
    const v = p.get(name)?.trim();
    if (!v) continue;
    if (name === 'failed') q.failed = 'true';
    else if (name !== 'since' && name !== 'until') q[name] = v;
    else if (!Number.isNaN(Date.parse(v))) q[name] = new Date(v).toISOString();
  }
  return q;
}

// local writes a time of the address for a field of the browser, to the minute; utc is the way back.
export function local(iso: string | null): string {
  const d = new Date(iso ?? '');
  if (!iso || Number.isNaN(d.getTime())) return '';
  return new Date(d.getTime() - d.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function utc(field: string): string {
  const d = new Date(field);
  return field && !Number.isNaN(d.getTime()) ? d.toISOString().replace('.000Z', 'Z') : '';
}

export interface Outcome {
  kind: 'good' | 'bad' | 'wait';
  word: string;
}

// outcome says how a call ended. Without a status nobody knows: the master ended before the call did.
export function outcome(e: Pick<AuditEntry, 'status' | 'error'>): Outcome {
  if (e.status === null) return { kind: 'wait', word: 'unknown' };
  if (e.status < 400) return { kind: 'good', word: 'done' };
  const words: Record<number, string> = { 400: 'invalid', 401: 'no sign-in', 403: 'refused', 404: 'not found', 409: 'conflict', 429: 'too many' };
  return { kind: 'bad', word: words[e.status] ?? `failed (${e.status})` };
}

const pages: Record<string, (id: string) => string> = {
  experiment: (id) => `/experiments/${id}`, trial: (id) => `/trials/${id}`, run: (id) => `/trials/${id}`, workspace: (id) => `/workspaces/${id}`, project: (id) => `/projects/${id}`,
  notebook: (id) => `/tasks/${id}`, shell: (id) => `/tasks/${id}`, command: (id) => `/tasks/${id}`, tensorboard: (id) => `/tasks/${id}`, task: (id) => `/tasks/${id}`,
  webhook: (id) => `/manage/webhooks/${id}`, group: (id) => `/manage/groups/${id}`,
};

// pageOf is the page of the object of an entry, if it has one. Objects of several parts begin with the id.
export function pageOf(e: Pick<AuditEntry, 'kind' | 'object'>): string | null {
  const id = e.object.split('/')[0] ?? '';
  const known = e.kind === 'task' || taskKind(e.kind) ? /^[0-9a-f-]{8,}(\.\w+)*$/i : /^[1-9]\d*$/;
  return pages[e.kind] && known.test(id) ? pages[e.kind]!(id) : null;
}

const taskKind = (kind: string) => ['notebook', 'shell', 'command', 'tensorboard'].includes(kind);

export async function entries(query: Query, before: string, signal?: AbortSignal, limit = 100): Promise<AuditResponse> {
  return call(listAudit, { query: { ...query, before, limit }, signal });
}

// entry finds an entry by its id.
export async function entry(id: string, signal?: AbortSignal): Promise<AuditEntry | null> {
  if (!/^\d{1,18}$/.test(id)) return null;
  const { entries: list } = await entries({}, String(BigInt(id) + 1n), signal, 1);
  return list.find((e) => e.id === id) ?? null;
}

// all reads the entries that match, the newest first, up to the most that one export has.
export async function all(read: (before: string) => Promise<AuditResponse>, progress: (n: number) => void, most = maxExported): Promise<{ list: AuditEntry[]; cut: boolean }> {
  const list: AuditEntry[] = [];
  let before = '';
  for (;;) {
    const answer = await read(before);
    list.push(...answer.entries);
    progress(list.length);
    if (!answer.next || answer.entries.length === 0) return { list, cut: false };
    if (list.length >= most) return { list: list.slice(0, most), cut: true };
    before = answer.next;
  }
}

export const exported = (query: Query, progress: (n: number) => void) => all((before) => entries(query, before, undefined, page), progress);

// lines are entries as lines of JSON, as det audit export prints them.
export const lines = (list: readonly AuditEntry[]): string => list.map((e) => `${JSON.stringify(e)}\n`).join('');
