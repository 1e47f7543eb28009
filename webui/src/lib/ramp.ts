// Colours from one end of a range to the other, of the style sheet's ramp: they differ in lightness,
// so that they can be told apart without seeing colours.
import { token } from './theme';

export const shades = 24;

// ramp returns the shades as the theme has them now, the first for 0.
export function ramp(): string[] {
  const stops = [1, 2, 3, 4, 5].map((i) => rgb(token(`--ramp-${i}`)));
  return Array.from({ length: shades }, (_, i) => {
    const at = (i / (shades - 1)) * (stops.length - 1);
    const from = stops[Math.floor(at)]!, to = stops[Math.min(stops.length - 1, Math.floor(at) + 1)]!;
    return `rgb(${from.map((c, k) => Math.round(c + (to[k]! - c) * (at % 1))).join(' ')})`;
  });
}

function rgb(hex: string): [number, number, number] {
  const n = parseInt(hex.slice(1), 16) || 0;
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}

// shadeOf is the index of the shade for a place from 0 to 1; -1 for none.
export const shadeOf = (p: number): number => (Number.isNaN(p) ? -1 : Math.min(shades - 1, Math.floor(p * shades)));
