// Part 6 in English: the shape of every matrix.
export const shapes = {
  title: 'The shape of every matrix',
  lead:
    'Most mistakes in attention are shapes. Know what every row and every column stands for, and you find them before ' +
    'the numbers go wrong.',

  presets: 'Start from',
  preset: { toy: 'the toy of part 5', gpt2_small: 'GPT-2 small', grouped: 'grouped heads' },
  presetText: {
    toy: '5 tokens, C = 4, 2 heads of 2',
    gpt2_small: 'C = 768, 12 heads of 64',
    grouped: '32 query heads share 8 key heads of 128',
  },
  sizes: 'Sizes',
  size: {
    n: 'tokens that ask',
    C: 'width of the model',
    heads: 'query heads',
    kv_heads: 'key and value heads',
    D: 'width of a query and a key',
    Dv: 'width of a value',
    B: 'sequences at once',
    T: 'tokens that are read',
  },
  badSize: (name: string) => `${name}: a whole number from 1 to 1 000 000 000. The last good one stays in use.`,

  table: 'Shapes',
  rule: 'Sizes that meet must be equal, and vanish. The outer ones stay:',
  ruleSpoken: 'Q, n by D, times K transposed, D by T, is S, n by T; A, n by T, times V, T by D v, is O, n by D v',
  matrix: 'Matrix',
  letters: 'In letters',
  shape: 'For one head',
  full: 'In memory, all heads',
  meaning: 'What it holds',
  draw: 'To scale, by logarithm',
  editHint:
    'Change any shape “for one head” to what your own program prints. Both forms are taken, for one head or in memory.',
  editShape: (matrix: string) => `Shape of ${matrix}`,
  badShape: (text: string) => `“${text}” is no shape. Write whole numbers like 5, 2.`,

  fits: 'Every shape fits.',
  breaks: (matrix: string) => `${matrix} does not fit`,
  expected: 'expected',
  found: 'found',
  mistake: 'The usual mistake',
  only: 'Look at the first line that breaks: those below it follow from it.',
  repairAll: 'Repair all',

  breakTitle: 'Or break one on purpose',
  breaking: {
    split: 'forget to split the heads',
    transpose: 'transpose K',
    pad: 'pad V but not K',
    merge: 'average the heads',
    repeat: 'make W_K as wide as W_Q',
  },
};
