import { describe, expect, it } from 'vitest';
import { reveal, visible } from '../src/lib/window';

describe('the rows on the screen', () => {
  it('are few, however many there are', () => {
    const w = visible(1_000_000, 36, 500_000 * 36, 720);
    expect(w.last - w.first).toBeLessThan(50);
    expect(w.first).toBeLessThanOrEqual(500_000);
    expect(w.last).toBeGreaterThanOrEqual(500_020);
    expect(w).toMatchObject({ above: w.first * 36, total: 36_000_000 });
  });
  it('are none of none, and the last ones beyond the end', () => {
    expect(visible(0, 36, 0, 720)).toEqual({ first: 0, last: 0, above: 0, total: 0 });
    const w = visible(5, 36, 10_000, 720);
    expect(w.last).toBe(5);
    expect(w.first).toBeLessThanOrEqual(5);
  });
  it('come into sight when they are chosen', () => {
    expect(reveal(0, 36, 100, 360)).toBe(0);
    expect(reveal(5, 36, 0, 360)).toBeNull();
    expect(reveal(20, 36, 0, 360)).toBe(21 * 36 - 360);
  });
});
