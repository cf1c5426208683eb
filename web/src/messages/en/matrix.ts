// Part 7 in English: the whole matrix.
export const matrix = {
  title: 'The whole matrix',
  lead:
    'Every token asks, every token answers: n × n weights. Read it by row. Row i says where token i looks, and each row ' +
    'sums to 1. Here the scores are drawn at random, so that you can watch what the size of d_k does to them.',
  function: 'What the scores look at',
  functions: { content: 'content', previous: 'the token before', decay: 'distance', mix: 'a mix' },
  mix: ['content', 'the token before', 'distance'],
  tokens: 'Tokens',
  width: 'd_k, the width of q and k',
  divide: 'divide by √d_k',
  draw: 'New draw',
  map: 'weights',
  cell: (query: string, key: string, weight: string) => `“${query}” looks at “${key}” with ${weight}`,
  hint: 'Point at the map, or tab to it and use the arrow keys. A click or Enter keeps the row.',
  largest: 'Largest weight',
  entropy: 'Entropy',
  gradient: 'Gradient let through',
  largestText: 'of each row; 1 means that one key takes all',
  entropyText: 'how many keys share a row, as a logarithm',
  gradientText: 'Σ a(1 − a): how much a change of the scores can move the weights',
  ofRows: (mean: string) => `mean of the rows ${mean}`,
  histogram: 'The scores before any division',
  measured: (noise: string, root: string) => `Standard deviation of the noise, measured: ${noise}. √d_k = ${root}.`,
  measuredAll: (all: string, root: string) => `Spread of all scores: ${all}. √d_k = ${root}.`,
  scaled: (value: string) => `What enters the softmax has a spread of ${value}.`,
  score: 'score',
  count: 'how many pairs',
  why: 'Why √d_k',
  argument: [
    'A score is a sum of d_k products. If each has variance 1 and they are independent, variances add: the sum has variance d_k.',
    'So its standard deviation is √d_k. Divide by that, and the softmax sees numbers of size 1 at every width.',
  ],
  argumentSpoken: 'the variance of the sum of d k products is d k, so its standard deviation is the square root of d k',
  saturated:
    'At d_k = 128 undivided scores spread by 11.3, and two of them easily differ by 20. e⁻²⁰ is 2·10⁻⁹: the matrix is all ' +
    'or nothing, and no gradient comes back through it.',
  drawn:
    'How they are drawn: the components of every key have variance 1. A query holds a share ρ = min(1, 3/√d_k) of the key ' +
    'it looks for and fresh noise for the rest, so its target stands 3 standard deviations high at any width.',
};
