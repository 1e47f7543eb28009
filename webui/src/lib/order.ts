// inOrder compares two values of a column. What has no number (NaN) comes last in both directions.
export function inOrder(x: number | string, y: number | string, desc: boolean): number {
  const none = Number(Number.isNaN(x)) - Number(Number.isNaN(y));
  if (none || Number.isNaN(x)) return none;
  const n = typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y), 'en', { numeric: true });
  return desc ? -n : n;
}
