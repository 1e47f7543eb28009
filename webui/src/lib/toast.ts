// Short messages that disappear after a moment. Errors stay until the user closes them.
import { signal } from '@preact/signals';
import { ApiError } from './api';

export interface Toast {
  id: number;
  kind: 'ok' | 'error';
  text: string;
}

const stay = 5000;
const most = 4;
let next = 1;

export const toasts = signal<Toast[]>([]);

export function say(text: string): void {
  const id = add('ok', text);
  setTimeout(() => close(id), stay);
}

export function complain(what: string, error: unknown): void {
  if (error instanceof ApiError && error.status === 401) return; // the sign-in says it
  add('error', `${what}: ${words(error)}`);
}

export function close(id: number): void {
  toasts.value = toasts.value.filter((t) => t.id !== id);
}

function add(kind: Toast['kind'], text: string): number {
  const same = toasts.value.find((t) => t.text === text);
  if (same) return same.id;
  const id = next++;
  toasts.value = [...toasts.value.slice(1 - most), { id, kind, text }];
  return id;
}

export function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
