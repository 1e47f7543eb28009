import { describe, expect, it } from 'vitest';
import { emit, paint } from '../src/lib/yaml';

describe('a configuration as YAML', () => {
  it('is written so that it reads back as it was', () => {
    const text = emit({ name: 'small', yes: 'yes', number: '12', searcher: { metric: 'loss', max: 3, smaller_is_better: true }, list: [1, { a: 1, b: [] }, 'x: y'], none: null, empty: {}, script: 'a\nb\n', odd: ' #no' });
    expect(text).toBe(`name: small
"yes": "yes"
number: "12"
searcher:
  metric: loss
  max: 3
  smaller_is_better: true
list:
  - 1
  - a: 1
    b: []
  - "x: y"
none: null
empty: {}
script: |
  a
  b
odd: " #no"
`);
  });
});

describe('painting', () => {
  it.each([
    ['name: small # a note', [['name', 'key'], [':', ''], [' small ', ''], ['# a note', 'note']]],
    ['  lr: 0.1', [['  ', ''], ['lr', 'key'], [':', ''], [' 0.1', 'number']]],
    ['# all of it', [['# all of it', 'note']]],
    ['- url: "http://x/#y"', [['- ', ''], ['url', 'key'], [':', ''], [' "http://x/#y"', 'text']]],
    ['entrypoint: python3 train.py', [['entrypoint', 'key'], [':', ''], [' python3 train.py', '']]],
    ['', []],
  ])('%s', (line, pieces) => {
    expect(paint(line).map((p) => [p.text, p.kind])).toEqual(pieces);
  });
  it('loses nothing', () => {
    for (const line of ['a: [1, "b # c"] # d', "x: 'it''s'", '  - a: b: c', '{json: 1}', 'key :value', '::']) {
      expect(paint(line).map((p) => p.text).join('')).toBe(line);
    }
  });
});
