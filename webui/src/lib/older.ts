// A list that is loaded from its newest entry on; older ones when somebody scrolls to them.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from './api';

const againAfter = 3000;

export interface Part<T> {
  list: T[];
  next: string | null; // where older entries begin; null: there are none
}

export interface Older<T> {
  list: T[];
  more: boolean;
  loaded: boolean; // the first part is here
  error: unknown;
  older: () => void;
  reload: () => void;
}

interface State<T> extends Part<T> {
  of: string;
  loaded: boolean;
  error: unknown;
}

// joined adds a new first part to the entries that are known, and replaces those that it has too: when the
// first part is loaded again, no entry between it and older ones is lost.
export function joined<T extends { id: string }>(first: readonly T[], known: readonly T[]): T[] {
  const fresh = new Set(first.map((e) => e.id));
  return [...first, ...known.filter((e) => !fresh.has(e.id))];
}

export function useOlder<T>(read: (before: string, signal: AbortSignal) => Promise<Part<T>>, deps: readonly unknown[]): Older<T> {
  const wanted = JSON.stringify(deps);
  const fresh = (of: string): State<T> => ({ list: [], next: null, of, loaded: false, error: undefined });
  const [state, set] = useState<State<T>>(() => fresh(wanted));
  const [round, again] = useState(0);
  const reader = useRef(read);
  reader.current = read;
  const now = useRef(state);
  now.current = state;
  const stop = useRef<AbortController>(new AbortController());
  const busy = useRef(false);

  const load = useCallback((before: string, of: string) => {
    const { signal } = stop.current;
    busy.current = true;
    reader.current(before, signal).then(
      (part) => {
        if (signal.aborted) return;
        busy.current = false;
        set((s) => ({ of, loaded: true, error: undefined, next: part.next, list: before && s.of === of ? [...s.list, ...part.list] : part.list }));
      },
      (error: unknown) => {
        if (signal.aborted) return;
        busy.current = false;
        set((s) => ({ ...(s.of === of ? s : fresh(of)), error }));
      },
    );
  }, []);
  useEffect(() => {
    stop.current = new AbortController();
    const mine = stop.current;
    load('', wanted);
    return () => mine.abort();
  }, [wanted, round]);
  // While no master answers, the first part is asked for again.
  useEffect(() => {
    if (!(state.error instanceof ApiError) || !state.error.away || state.loaded) return;
    const timer = setTimeout(() => again((n) => n + 1), againAfter);
    return () => clearTimeout(timer);
  }, [state.error]);

  const older = useCallback(() => {
    const s = now.current;
    if (!busy.current && s.next && s.error === undefined) load(s.next, s.of);
  }, []);
  const reload = useCallback(() => again((n) => n + 1), []);
  const current = state.of === wanted ? state : fresh(wanted);
  return { list: current.list, more: current.next !== null, loaded: current.loaded, error: current.error, older, reload };
}
