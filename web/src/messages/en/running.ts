// Part 5 in English: the running example.
export const running = {
  title: 'A whole layer: the cat climbed the',
  lead:
    'Five tokens, four numbers each: the, ␣cat, ␣climb, ed, ␣the. The tokenizer cut the verb in two. What should the ' +
    'last “the” look at? The projections here only pick columns, so that you can trace every number back to X.',
  row: 'Who asks',
  head: 'Head',
  heads: { first: 'head 1', second: 'head 2', merged: 'both, merged' },
  causal: 'Causal mask',
  divide: 'Divide by √d_k',
  causalText: (weight: string) =>
    `The first “the” gives ${weight} of its attention to “␣climb”, a word that comes later. A model that generates ` +
    'text must not see the future: the mask forbids it. The last row sees everything anyway, and does not change.',
  isCausalText:
    'No row sees a word that comes later: the first “the” is left with itself alone. The last row saw everything ' +
    'anyway, and has not changed.',
  divideText: 'Without the division the largest weight grows and the others fade. Part 7 shows why, and what it costs.',
  norm: 'LayerNorm',
  normText: 'Each row minus its mean, divided by its spread σ. The means are 0 already: only the division is left.',
  project: 'Three projections',
  projectText: 'Each W has a single 1 in a column: it picks a column of U.',
  compare: 'Scores',
  compareText: 'Every query against every key. A head is two numbers wide, so √2.',
  undividedText: 'Every query against every key, and nothing is divided.',
  weigh: 'Weights',
  weighText: 'Softmax, row by row. Each row sums to 1.',
  mix: 'Output',
  mixText: 'The weights mix the rows of V.',
  merge: 'Merged',
  mergeText: 'The two heads side by side, four numbers a token again.',
  spoken: {
    norm: 'u is x minus its mean mu, divided by sigma',
    project: 'Q is U times W Q, K is U times W K, V is U times W V',
    divided: 'S is Q times K transposed, divided by the square root of two',
    undivided: 'S is Q times K transposed, undivided',
    weigh: 'A is the softmax of S, row by row',
    mix: 'O is A times V',
    merge: 'M is O one beside O two',
  },
  given: 'given',
  mean: 'the means',
  spread: 'the spreads',
  normed: 'normalised rows',
  query: 'what each token looks for',
  keys: 'what each token advertises',
  values: 'what each token delivers',
  output: 'what each token gets',
  looks: (token: string, list: string, sum: string) => `“${token}” looks most at ${list}; the two together take ${sum}.`,
  and: ' and ',
  part: (key: string, weight: string) => `“${key}” with ${weight}`,
};
