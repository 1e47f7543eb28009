// Which rows of a long list are on the screen. Rows have one height, so that this is
// a division and no measurement, and ten thousand of them scroll like ten.

export interface Window {
  first: number;
  last: number; // not included
  above: number; // pixels before the first
  total: number; // pixels of all
}

const spare = 8; // rows beyond the edges, so that quick scrolling shows no empty space

export function visible(count: number, height: number, scroll: number, viewport: number): Window {
  const first = Math.max(0, Math.min(count, Math.floor(scroll / height) - spare));
  const last = Math.min(count, Math.ceil((scroll + viewport) / height) + spare);
  return { first, last: Math.max(first, last), above: first * height, total: count * height };
}

// reveal is where to scroll so that a row can be seen, or null if it can.
export function reveal(row: number, height: number, scroll: number, viewport: number): number | null {
  if (row * height < scroll) return row * height;
  if ((row + 1) * height > scroll + viewport) return (row + 1) * height - viewport;
  return null;
}
