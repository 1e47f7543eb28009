// Which lines a chart of several trials has, and their names.
import type { Compared } from './compare';
import type { Key } from './series';

export type Show = 'training' | 'validation' | 'both';
export const shows: Show[] = ['training', 'validation', 'both'];

const few = 4; // up to so many trials have both lines unless the address says otherwise: a legend has room for eight
const maxName = 40; // characters of an experiment's name in a legend

// showOf reads the choice in an address.
export function showOf(said: string | null, trials: number): Show {
  return shows.find((s) => s === said) ?? (trials <= few ? 'both' : 'validation');
}

// splits reports whether a chart has lines of both groups.
export const splits = (keys: readonly Key[]): boolean => ['training', 'validation'].every((g) => keys.some((k) => k.group === g));

// linesOf chooses the lines of a chart, in the order of the trials, the best trial last, which is on top. A chart that has only
// one of the two groups is drawn whatever was chosen.
export function linesOf(keys: readonly Key[], trials: readonly number[], show: Show, best: number | undefined, most: number): Key[] {
  const both = splits(keys);
  const place = new Map(trials.map((t, i) => [t, t === best ? trials.length : i]));
  const at = (k: Key) => place.get(k.trial) ?? -1;
  return keys.filter((k) => !both || show === 'both' || k.group === show).sort((a, b) => at(a) - at(b)).slice(0, both && show === 'both' ? 2 * most : most);
}

// titleOf has the names of the metrics that are drawn.
export function titleOf(keys: readonly Key[]): string {
  const name = (k: Key) => (k.group === 'training' || k.group === 'validation' ? k.name : `${k.group}.${k.name}`);
  return [...new Set(keys.map(name))].join(', ');
}

// partOf tells the lines of one trial apart: by the group, and by the name where a group has several.
export function partOf(k: Key, all: readonly Key[]): string {
  const mine = all.filter((o) => o.trial === k.trial);
  if (mine.length < 2) return '';
  return mine.filter((o) => o.group === k.group).length === 1 ? k.group : `${k.group} ${k.name}`;
}

// labelsOf names trials by their experiments, and by their own number where an experiment has several of them.
export function labelsOf(list: readonly Compared[]): Map<number, string> {
  const of = (id: number) => list.filter((c) => c.experiment.id === id).length;
  return new Map(list.map(({ trial, experiment: e }) => {
    const name = e.name.length > maxName ? `${e.name.slice(0, maxName - 1)}…` : e.name;
    return [trial.id, `${e.id} ${name}${of(e.id) > 1 ? `, trial ${trial.id}` : ''}`];
  }));
}
