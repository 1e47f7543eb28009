// Pages that most visits do not open are fetched when they are.
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from './api';
import { Loading, Problem } from '../parts/bits';

// lazy is a part that is fetched when it is first shown; a quiet one leaves its place empty until then.
export function lazy<P extends object>(fetchIt: () => Promise<ComponentType<P>>, quiet = false): ComponentType<P> {
  let got: ComponentType<P> | undefined;
  return function Lazy(props: P) {
    const [state, set] = useState<{ page: ComponentType<P> | undefined; error?: unknown }>({ page: got });
    const [round, again] = useState(0);
    useEffect(() => {
      if (got) return;
      fetchIt().then(
        (page) => {
          got = page;
          set({ page });
        },
        // A new master has other files: a new start of the page finds them.
        () => set({ page: undefined, error: new ApiError(404, 'The master may be down, or may have been upgraded.') }),
      );
    }, [round]);
    if (state.page) return <state.page {...props} />;
    if (quiet) return null;
    return state.error ? <Problem what="Could not load this page." error={state.error} retry={() => (round ? location.reload() : again(1))} /> : <Loading lines={5} />;
  };
}
