// The states of experiments, trials and tasks, which come as STATE_RUNNING or RUNNING.

export const ended = (state: string): boolean =>
  ['COMPLETED', 'CANCELED', 'ERROR', 'DELETE_FAILED', 'TERMINATED'].includes(bare(state));

// STATE_RUNNING → RUNNING
export const bare = (state: string): string => state.replace(/^(STATE|TYPE)_/, '');
