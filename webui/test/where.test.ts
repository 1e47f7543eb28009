import { describe, expect, it } from 'vitest';
import { asHyperparameter, columnOf, complete, count, lineOf, parse } from '../src/lib/where';

describe('a line and its rows', () => {
  it.each([
    ['', ''],
    ['state = completed', 'state = completed'],
    ['hp.lr < 0.01 AND label = x', 'hp.lr < 0.01 and label = x'],
    ['a = 1 or b = 2 and c = 3', 'a = 1 or (b = 2 and c = 3)'],
    ['(a = 1 or b = 2) and c = 3', '(a = 1 or b = 2) and c = 3'],
    ['name contains "two words" and name not contains x', 'name ~ "two words" and name !~ x'],
    ['label in (a, "b c", \'d\') and user not in (ada)', 'label in (a, "b c", "d") and user not in (ada)'],
    ['ended is empty or hp.lr IS NOT EMPTY', 'ended is empty or hp.lr is not empty'],
    ['id == 3 and id <> 4', 'id = 3 and id != 4'],
    ['name = "3"', 'name = "3"'],
    ['name = "and"', 'name = "and"'],
    ['name = "a \\"quote\\" and a \\\\"', 'name = "a \\"quote\\" and a \\\\"'],
    ['hp."learning rate" >= 1e-3', 'hp."learning rate" >= 1e-3'],
    ['started > -7d and started < 2026-11-30T12:00:00Z', 'started > -7d and started < 2026-11-30T12:00:00Z'],
    ['((a = 1))', 'a = 1'],
    ['validation.loss.min<0.1', 'validation.loss.min < 0.1'],
    ['name ~ жук', 'name ~ жук'],
  ])('%s', (line, want) => {
    const tree = parse(line);
    expect(tree).not.toBeNull();
    expect(lineOf(tree!)).toBe(want);
    expect(lineOf(parse(want)!), 'it stays as it is').toBe(want);
  });

  it.each(['not a = 1', 'a =', '= 1', 'a = 1 and', '(a = 1', 'a = 1)', 'a in b', 'a in (b', 'a is', 'a ! 1', 'a = "x', 'a b c', 'a = 1 b = 2', 'a ( 1', 'a , b', 'a not 1'])('%s is for the master to judge', (line) => {
    expect(parse(line)).toBeNull();
  });
});

it('what is not complete is not asked for', () => {
  const fresh = { column: '', op: '=' as const, values: [{ text: '', quoted: false }] };
  const tree = { any: false, children: [fresh, { column: 'a', op: '=' as const, values: [{ text: '1', quoted: false }] }, { any: true, children: [fresh] }, { column: 'b', op: 'is empty' as const, values: [] }] };
  expect(lineOf(tree)).toBe('a = 1 and b is empty');
  expect(count(tree)).toBe(2);
  expect(complete({ column: 'x', op: 'in', values: [{ text: 'a', quoted: false }, { text: '', quoted: false }] })).toBe(false);
});

it('names of columns are one word', () => {
  expect(columnOf('hp.lr')).toBe('hp.lr');
  expect(columnOf('hp.learning rate')).toBe('hp."learning rate"');
  expect(lineOf(parse(`${columnOf('hp.a "b" (c)')} = 1`)!)).toBe('hp."a \\"b\\" (c)" = 1');
});

describe('what somebody searches everything for, as a hyperparameter', () => {
  const known = ['lr', 'net.depth', 'lr_decay', 'learning rate'];
  it.each([
    ['lr', ['hp.lr is not empty', 'hp.lr_decay is not empty'], 'hp.lr is not empty'],
    ['hp.LR', ['hp.lr is not empty', 'hp.lr_decay is not empty'], 'hp.lr is not empty'],
    ['dep', ['hp.net.depth is not empty'], ''],
    ['lr<0.01', ['hp.lr < 0.01'], 'hp.lr < 0.01'],
    ['hp.net.depth >= 3', ['hp.net.depth >= 3'], 'hp.net.depth >= 3'],
    ['lr == 1', ['hp.lr = 1'], 'hp.lr = 1'],
    ["learning rate = 'a b'", ['hp."learning rate" = "a b"'], 'hp."learning rate" = "a b"'],
    ['momentum = 3', [], ''],
    ['momentum', [], ''],
    ['', [], ''],
  ])('%s', (typed, lines, exact) => {
    expect(asHyperparameter(typed, known)).toEqual({ lines, exact });
  });
});
