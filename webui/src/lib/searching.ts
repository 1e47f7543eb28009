// Loads the trials of a search for a page: in parts, which are shown as they arrive, and again as long
// as they can change.
import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from './api';
import { rowOf, type Row } from './hp';

export interface Searching {
  rows: Row[];
  ready: boolean; // all parts have been read once
  error: unknown;
}

const part = 1000; // trials of one request
const slack = 30_000; // milliseconds that clocks and summaries may be behind
const glance = 1000; // milliseconds between two pictures of a search that is still being read
const pause = 3000; // between two readings of what has changed

// pointsFor is the number of points of each curve, by the number of curves in a chart.
export const pointsFor = (trials: number): number => (trials <= 50 ? 200 : trials <= 500 ? 100 : trials <= 2000 ? 40 : 20);

export function useSearching(id: number, trials: number, group: string, metric: string, smaller: boolean, over: boolean): Searching {
  const [state, set] = useState<Searching>({ rows: [], ready: false, error: undefined });
  const ended = useRef(over);
  ended.current = over;
  const points = pointsFor(trials);
  useEffect(() => {
    const stop = new AbortController();
    const byId = new Map<number, Row>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let since = '';
    set({ rows: [], ready: false, error: undefined });
    const show = (ready: boolean) => set({ rows: [...byId.values()].sort((a, b) => a.id - b.id), ready, error: undefined });
    const read = async () => {
      const last = ended.current; // what is read after the end is the whole
      const begun = performance.now();
      let shown = begun - glance / 2; // a search that is read at once is drawn once
      try {
        let first = '';
        for (let after = 0; ; ) {
          const got = await api.searchTrials(id, { metric, group, points, after, limit: part, changedSince: since }, stop.signal);
          first ||= new Date(Date.parse(got.time) - slack).toISOString();
          for (const t of got.trials) byId.set(t.id, rowOf(t, smaller));
          if (!got.next) break;
          if (!since && performance.now() - shown > glance) {
            show(false);
            shown = performance.now();
          }
          after = got.next;
        }
        since = first;
        show(true);
      } catch (error) {
        if (stop.signal.aborted) return;
        set((s) => ({ ...s, error }));
        timer = setTimeout(read, pause);
        return;
      }
      if (!last) timer = setTimeout(read, Math.max(pause, 3 * (performance.now() - begun)));
    };
    void read();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [id, group, metric, smaller, points]);
  return state;
}
