// Loads data for a component. The newest answer is shown; an earlier one stays visible while a
// new one is loaded. While no master answers, the request is repeated.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from './api';

const againAfter = 3000;

export interface Loaded<T> {
  data: T | undefined;
  error: unknown;
  reload: () => void;
  change: (fn: (data: T) => T) => void;
}

export function useLoad<T>(read: (signal: AbortSignal) => Promise<T>, deps: readonly unknown[]): Loaded<T> {
  const [state, set] = useState<{ data: T | undefined; error: unknown; deps: string }>({ data: undefined, error: undefined, deps: '' });
  const [round, again] = useState(0);
  const wanted = JSON.stringify(deps);
  const reader = useRef(read);
  reader.current = read;

  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    reader.current(stop.signal).then(
      (data) => !stop.signal.aborted && set({ data, error: undefined, deps: wanted }),
      (error: unknown) => {
        if (stop.signal.aborted) return;
        set((s) => ({ ...s, error, deps: wanted }));
        if (error instanceof ApiError && error.away) timer = setTimeout(() => again((n) => n + 1), againAfter);
      },
    );
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [wanted, round]);

  const reload = useCallback(() => again((n) => n + 1), []);
  const change = useCallback((fn: (data: T) => T) => set((s) => (s.data === undefined ? s : { ...s, data: fn(s.data) })), []);
  // Data of another request is not shown for this one.
  const current = state.deps === wanted;
  return { data: current ? state.data : undefined, error: current ? state.error : undefined, reload, change };
}

// useNow ticks, for times that are shown as "5m ago".
export function useNow(every = 10_000): number {
  const [now, set] = useState(Date.now);
  useEffect(() => {
    const t = setInterval(() => set(Date.now()), every);
    return () => clearInterval(t);
  }, [every]);
  return now;
}
