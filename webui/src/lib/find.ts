// Lists experiments by a line of the filter language. The master parses the line, and
// reports the position of an error.
import { ApiError, type Query } from './api';

// The columns of the language, by the keys that the table's columns have.
const columns: Record<string, string> = {
  started: 'startTime', ended: 'endTime', trials: 'numTrials', pool: 'resourcePool', metric: 'searcherMetricsVal', checkpoints: 'checkpointCount', size: 'checkpointSize',
};

export interface Wanted {
  where: string;
  name: string;
  owner: string;
  states: string[];
  archived: string; // '', all or only
  sort: string;
  desc: boolean;
  project?: number;
}

const field = (columnName: string, operator: string, value: string) => ({ kind: 'field', columnName, operator, value });

// searchFor returns the request for the list of listFor, with a filter line.
export function searchFor(w: Wanted): Query {
  const children: object[] = [];
  if (w.name) children.push(field('name', 'contains', w.name));
  if (w.owner) children.push(field('user', '=', w.owner));
  if (w.states.length) children.push({ kind: 'group', conjunction: 'or', children: w.states.map((s) => field('state', '=', s)) });
  if (w.archived === 'only') children.push(field('archived', '=', 'true'));
  return {
    ...(w.project ? { projectId: w.project } : {}),
    query: w.where, sort: `${columns[w.sort] ?? w.sort}=${w.desc ? 'desc' : 'asc'}`,
    filter: JSON.stringify({ filterGroup: { kind: 'group', conjunction: 'and', children }, showArchived: w.archived !== '' }),
  };
}

// wrongAt returns the error of a filter line and its position, counted from 0; null if
// the error is about something else.
export function wrongAt(error: unknown): { at: number; message: string } | null {
  const m = error instanceof ApiError && error.status === 400 ? /^query: column (\d+): ([^]*)$/.exec(error.message) : null;
  return m ? { at: Number(m[1]) - 1, message: m[2] ?? '' } : null;
}
