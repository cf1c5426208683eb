// Part 3 in English: by hand.
export const bank = {
  title: 'By hand: sat, bank, river',
  lead:
    'Which bank is meant? “Bank” looks around: at “sat”, at itself and at “river”. Two numbers make a query, two make ' +
    'a key, and what each word delivers is [river, money]. Change any number and follow it down.',
  asks: 'Who asks',
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
  spoken: {
    score: 'the score of key j is the dot product of q and k j',
    scale: 's j is the dot product of q and k j, divided by the square root of two',
    softmax: 'the weight a j is e to the s j, divided by the sum of e to the s i over all keys i',
    mix: 'the output o is the sum over all keys j of a j times v j',
  },
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
};
