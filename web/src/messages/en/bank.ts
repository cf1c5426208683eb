// Part 3 in English: by hand.
export const bank = {
  title: 'By hand: sat, bank, river',
  lead:
    'Which bank is meant? “Bank” looks around: at “sat”, at itself and at “river”. Two numbers make a query, two make ' +
    'a key, and what each word delivers is [river, money]. Change any number and follow it down.',
  asks: 'Who asks',
  tokens: 'sat · bank · river',
  steps: {
    score: 'Scores',
    scoreText: 'The query times each key: multiply number by number, and add.',
    scale: 'Divide by √2',
    scaleText: 'Two numbers in a key, so √2. Part 7 shows what happens without it.',
    softmax: 'Softmax',
    softmaxText: 'e to the power of each, divided by their sum. Weights are positive and sum to 1.',
    mix: 'Mix',
    mixText: 'Each value times its weight, added up.',
  },
  scoreSpoken: 'the score s is q times k transposed',
  answer: 'Answer',
  query: 'the queries',
  keys: 'the keys',
  values: 'the values: river, money',
  experiments: 'Three experiments',
  river: 'River says money',
  riverText: 'No weight moves: weights come from queries and keys alone. The answer does.',
  ask: 'Query [1, 0]',
  askText: 'Now “sat” and “bank” match equally well, and share the weight.',
  zero: 'Query zero',
  zeroText: 'Who asks nothing sees everything alike: the plain average.',
  said: (weights: string, answer: string) => `weights ${weights}; answer ${answer}`,
};
