import { describe, expect, it } from 'vitest';
import css from '../src/style.css?raw';

function tokens(selector: string): Record<string, string> {
  const at = css.indexOf(`${selector} {`);
  expect(at, selector).toBeGreaterThanOrEqual(0);
  const body = css.slice(css.indexOf('{', at) + 1, css.indexOf('}', at));
  return Object.fromEntries([...body.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6})/g)].map((m) => [m[1], m[2]]));
}

const light = tokens(':root');
const dark = tokens(":root[data-theme='dark']");
const system = tokens(':root:not([data-theme])');

// contrast as WCAG 2 computes it.
function contrast(a: string, b: string): number {
  const luminance = (hex: string) => {
    const [r, g, bl] = [1, 3, 5].map((i) => {
      const v = parseInt(hex.slice(i, i + 2), 16) / 255;
      return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    }) as [number, number, number];
    return 0.2126 * r + 0.7152 * g + 0.0722 * bl;
  };
  const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p) as [number, number];
  return (x + 0.05) / (y + 0.05);
}

describe.each([['light', light], ['dark', dark]])('the %s theme', (_name, t) => {
  const texts: [string, string][] = [
    ...['text', 'muted', 'faint', 'accent', 'bad'].flatMap((c) => ['page', 'panel', 'sunk'].map((g): [string, string] => [c, g])),
    ...['good', 'bad', 'hold', 'wait', 'run', 'off'].map((c): [string, string] => [c, `${c}-soft`]),
    ['accent', 'accent-soft'], ['accent-text', 'accent'], ['text', 'found'], ['text', 'bad-soft'], ['text', 'wait-soft'], ['panel', 'bad'],
  ];
  it.each(texts)('%s can be read on %s', (text, ground) => {
    expect(contrast(t[text]!, t[ground]!)).toBeGreaterThanOrEqual(4.5);
  });
  it('draws curves that can be told from the ground', () => {
    for (let i = 1; i <= 8; i++) expect(contrast(t[`curve-${i}`]!, t.panel!), `curve ${i}`).toBeGreaterThanOrEqual(3);
  });
});

it('the system chooses the same dark theme as a person', () => {
  expect(system).toEqual(dark);
  expect(Object.keys(dark).sort()).toEqual(Object.keys(light).sort());
});

it('gives no class two meanings', () => {
  // Two places that use one name would otherwise change each other's looks: rules of one class alone, outside of media queries.
  const plain = css.replace(/\/\*[\s\S]*?\*\//g, '').replace(/@[^{]+\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}/g, '');
  const seen = new Map<string, string>();
  for (const [, selectors, body] of plain.matchAll(/([^{}]+)\{([^{}]*)\}/g)) {
    const selector = selectors!.trim();
    if (/^\.[\w-]+$/.test(selector)) {
      for (const [property, value] of body!.split(';').map((d) => d.split(':').map((x) => x.trim()) as [string, string]).filter(([p]) => p)) {
        const key = `${selector} ${property}`;
        expect(seen.get(key) ?? value, key).toBe(value);
        seen.set(key, value);
      }
    }
  }
  expect(seen.size).toBeGreaterThan(500);
});
