// One stream of events per page: changed objects, and the reports of the trials that the page shows.
// The browser reconnects by itself with the last position, so no event is lost. A
// hidden tab closes its connection, because browsers open few connections to one master.
import { signal } from '@preact/signals';
import { followLive, getMe, type Experiment, type MetricsReport } from './types';
import { request, search } from './api';

export type Connection = 'live' | 'lost' | 'idle';

// connection is shown in the head of every page.
export const connection = signal<Connection>('idle');

export type Moved = Pick<
  Experiment,
  'id' | 'state' | 'name' | 'archived' | 'progress' | 'numTrials' | 'checkpointCount' | 'bestTrialId' | 'bestTrialSearcherMetric' | 'endTime' | 'duration' | 'error'
>;

export interface Look {
  what: ('experiments' | 'tasks' | 'queue' | 'nodes')[];
  gone: number[];
}

export interface Listener {
  trials?: readonly number[];
  // up to date: what is read after this has no gap before what comes later
  onReady?: () => void;
  onMetrics?: (report: MetricsReport) => void;
  onExperiment?: (moved: Moved) => void;
  onLook?: (look: Look) => void;
}

const lostAfter = 3000; // milliseconds without a connection before the page shows it
const againAfter = 5000;

// follow listens until the returned function is called.
export function follow(listener: Listener): () => void {
  let source: EventSource | null = null;
  let position = '';
  let lost: ReturnType<typeof setTimeout> | undefined;
  let again: ReturnType<typeof setTimeout> | undefined;

  const remember = (e: MessageEvent) => {
    position = e.lastEventId || position;
  };
  const up = () => {
    clearTimeout(lost);
    lost = undefined;
    connection.value = 'live';
  };

  const open = () => {
    clearTimeout(again);
    source = new EventSource(followLive.path + search({ trials: [...(listener.trials ?? [])], after: position }));
    source.addEventListener('position', (e) => {
      remember(e);
      up();
      listener.onReady?.();
    });
    source.addEventListener('metrics', (e) => {
      remember(e);
      listener.onMetrics?.(JSON.parse(e.data));
    });
    source.addEventListener('experiment', (e) => {
      remember(e);
      listener.onExperiment?.(JSON.parse(e.data));
    });
    source.addEventListener('look', (e) => {
      remember(e);
      const look = JSON.parse(e.data) as Look;
      if (look.what.length || look.gone.length) listener.onLook?.(look);
    });
    source.onerror = () => {
      lost ??= setTimeout(() => (connection.value = 'lost'), lostAfter);
      if (source?.readyState !== EventSource.CLOSED) return; // it tries again by itself
      source = null;
      // The answer was no stream: the user is signed out, a trial was deleted, or a master is stopping.
      request(getMe.path).catch(() => {});
      again = setTimeout(open, againAfter);
    };
  };
  const close = () => {
    clearTimeout(lost);
    clearTimeout(again);
    lost = undefined;
    source?.close();
    source = null;
  };
  const visibility = () => {
    if (document.hidden) close();
    else if (!source) open();
  };

  document.addEventListener('visibilitychange', visibility);
  if (!document.hidden) open();
  return () => {
    document.removeEventListener('visibilitychange', visibility);
    close();
    connection.value = 'idle';
  };
}

// often calls fn at most once per interval, and once more if it was called meanwhile.
export function often(fn: () => void, interval = 500): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pending = false;
  const run = () => {
    timer = setTimeout(() => {
      timer = undefined;
      if (pending) {
        pending = false;
        run();
      }
    }, interval);
    fn();
  };
  return () => {
    if (timer) pending = true;
    else run();
  };
}

// reloadOn reloads a page's lists, at most once per interval, when one of these kinds has changed, and after an
// interruption of the stream. It returns the function that ends this.
export function reloadOn(kinds: Look['what'], reload: () => void, interval: number): () => void {
  const soon = often(reload, interval);
  let ready = false;
  return follow({
    onReady: () => {
      if (ready) soon();
      ready = true;
    },
    onLook: (l) => l.what.some((kind) => kinds.includes(kind)) && soon(),
  });
}
