// The states of experiments, trials and tasks, which come as STATE_RUNNING or RUNNING.

export const ended = (state: string): boolean =>
  ['COMPLETED', 'CANCELED', 'ERROR', 'DELETE_FAILED', 'TERMINATED'].includes(bare(state));

// continuable says whether an experiment can train on after its end: the searches that stop trials cannot, and of a search that has
// completed no trial is left to continue.
export const continuable = (e: { state: string; unmanaged?: boolean; config: { searcher?: { name?: string } } }): boolean => {
  const searcher = e.config.searcher?.name ?? '';
  return ended(e.state) && !e.unmanaged && (searcher === 'single' || (searcher === 'random' || searcher === 'grid') && bare(e.state) !== 'COMPLETED');
};

// STATE_RUNNING → RUNNING
export const bare = (state: string): string => state.replace(/^(STATE|TYPE)_/, '');
