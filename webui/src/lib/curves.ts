// The curves of a page's trials: loaded when the stream is up to date, then extended by
// the reports in the stream.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { api } from './api';
import { grow, load, pointsOf, type Book } from './series';
import type { MetricsReport } from './types';

const redraw = 250; // milliseconds between two redraws

export interface Curves {
  book: Book;
  version: number; // changes when the book does
  ready: boolean;
  error: unknown;
  reload: () => void;
  report: (r: MetricsReport) => void;
}

export function useCurves(trials: readonly number[]): Curves {
  const book = useRef<Book>(new Map());
  const late = useRef<MetricsReport[] | null>(null); // what came while the curves were being read
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const [state, set] = useState({ version: 0, ready: false, error: undefined as unknown });
  const [round, again] = useState(0);
  const wanted = trials.join(',');
  const most = useRef(0);
  most.current = pointsOf(trials.length);

  useEffect(() => {
    book.current = new Map();
    set((s) => ({ version: s.version + 1, ready: false, error: undefined }));
  }, [wanted]);
  useEffect(() => {
    if (trials.length === 0) return;
    const stop = new AbortController();
    late.current = [];
    api.curves({ trialIds: trials, maxDatapoints: most.current }, stop.signal).then(
      (list) => {
        if (stop.signal.aborted) return;
        const fresh: Book = new Map();
        for (const c of list) for (const m of c.metrics) load(fresh, c.trial.id, m.group, m.data);
        for (const r of late.current ?? []) grow(fresh, r, most.current);
        late.current = null;
        book.current = fresh;
        set((s) => ({ version: s.version + 1, ready: true, error: undefined }));
      },
      (error: unknown) => {
        if (!stop.signal.aborted) set((s) => ({ ...s, error }));
      },
    );
    return () => stop.abort();
  }, [wanted, round]);
  useEffect(() => () => clearTimeout(timer.current), []);

  const report = useCallback((r: MetricsReport) => {
    late.current?.push(r);
    if (!grow(book.current, r, most.current)) return;
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      set((s) => ({ ...s, version: s.version + 1 }));
    }, redraw);
  }, []);
  const reload = useCallback(() => again((n) => n + 1), []);
  return { book: book.current, ...state, reload, report };
}
