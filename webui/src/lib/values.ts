// Metrics whose values are no numbers: texts, lists and others, which no curve shows.
import { plain } from './format';
import { groupOf } from './series';

export interface Value {
  name: string; // with its group
  text: string;
  batches: number | null; // of the report; null: not known
}

export const maxValues = 20;
const maxText = 300; // characters

interface Summary {
  type?: string;
  last?: unknown;
  batches?: number;
}

// valuesOf lists the newest value of each such metric of a trial, the first ones by name, and counts the others.
export function valuesOf(summary: Record<string, unknown> | null): { list: Value[]; more: number } {
  const all: Value[] = [];
  for (const [raw, metrics] of Object.entries(summary ?? {})) {
    for (const [name, s] of Object.entries((metrics ?? {}) as Record<string, Summary | null>)) {
      if (!s?.type || s.type === 'number') continue;
      all.push({ name: `${groupOf(raw)} ${name}`, text: textOf(s), batches: s.batches ?? null });
    }
  }
  all.sort((a, b) => a.name.localeCompare(b.name));
  return { list: all.slice(0, maxValues), more: Math.max(0, all.length - maxValues) };
}

function textOf(s: Summary): string {
  if (s.last === null && s.type !== 'null') return 'too long to be shown';
  const text = plain(s.last);
  return text.length > maxText ? `${text.slice(0, maxText)}…` : text;
}
