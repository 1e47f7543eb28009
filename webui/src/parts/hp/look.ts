// The colour of each trial: by its rank, or by a hyperparameter.
import type { Axis, Field } from '../../lib/hp';
import { ramp, shadeOf } from '../../lib/ramp';
import { token } from '../../lib/theme';

export interface Look {
  by: string; // '': the rank
  axis: Axis | undefined;
  color: (row: number) => string;
  colors: string[]; // of the ramp, the first for the least or the worst
  keys: { label: string; color: string }[]; // of a category
}

const curves = 8;

export function lookOf(f: Field, by: string): Look {
  const shades = ramp();
  const none = token('--line'); // no value
  const i = by ? f.axes.findIndex((a) => a.name === by) : -1;
  const axis = f.axes[i];
  if (axis?.kind === 'category' && axis.values.length <= curves) {
    const colors = axis.values.map((_, n) => token(`--curve-${n + 1}`));
    const at = f.at[i]!;
    return {
      by, axis, colors: shades, keys: axis.values.map((label, n) => ({ label, color: colors[n]! })),
      color: (row) => (Number.isNaN(at[row]!) ? none : colors[Math.round(at[row]! * (colors.length - 1))] ?? none),
    };
  }
  const at = axis ? f.at[i]! : f.rank;
  return { by: axis ? by : '', axis, colors: shades, keys: [], color: (row) => shades[shadeOf(axis ? at[row]! : 1 - at[row]!)] ?? none };
}
