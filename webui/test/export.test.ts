import { expect, it } from 'vitest';
import { csv, experimentsAsCsv } from '../src/lib/export';
import type { Experiment } from '../src/lib/types';

it('CSV keeps commas, quotes and lines apart, and gives spreadsheets no formula', () => {
  expect(csv(['a', 'b'], [['x,y', 'say "hi"'], ['two\nlines', null], ['=1+1', -3], ['-0.5', '@here'], [true, undefined]])).toBe(
    'a,b\r\n"x,y","say ""hi"""\r\n"two\nlines",\r\n\'=1+1,-3\r\n-0.5,\'@here\r\ntrue,\r\n');
});

it('an experiment is a row', () => {
  const e = { id: 7, name: 'a, b', state: 'STATE_COMPLETED', labels: ['x', 'y'], bestTrialSearcherMetric: 0.5 } as unknown as Experiment;
  const [head, row] = experimentsAsCsv([e]).split('\r\n') as [string, string];
  expect(head.startsWith('id,name,description,state')).toBe(true);
  expect(row.startsWith('7,"a, b",,COMPLETED')).toBe(true);
  expect(row).toContain('x;y');
  expect(row).toContain('0.5');
});
