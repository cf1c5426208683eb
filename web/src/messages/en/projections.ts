// Part 2 in English: query, key, value.
export const projections = {
  title: 'Query, key, value',
  lead:
    'A dictionary needs a question, keys and values. In a transformer every token makes all three out of itself: what ' +
    'it looks for, what it advertises, and what it delivers to whoever looks at it.',

  query: 'query',
  queryText: 'what a token looks for',
  keyWord: 'key',
  keyText: 'what it advertises',
  value: 'value',
  valueText: 'what it delivers',
  threeText:
    'Three projections of one input. The three matrices W are the only thing that the layer learns; everything after ' +
    'them is arithmetic without a parameter.',

  sentence: ['The', 'animal', 'did', 'not', 'cross', 'the', 'street', 'because', 'it', 'was', 'tired', '.'],
  speakers: {
    noun: {
      word: 1,
      asks: 'what is said about me?',
      advertises: '“I am a noun: one, alive”',
      delivers: 'an animal, with all that it brings',
    },
    pronoun: {
      word: 8,
      asks: 'a noun that I could stand for',
      advertises: '“I am a pronoun”',
      delivers: 'whatever has been gathered here so far',
    },
    adjective: {
      word: 10,
      asks: 'who is in this state?',
      advertises: '“I am a state of somebody alive”',
      delivers: 'tiredness',
    },
  },
  pronounTitle: 'Why three and not one',
  pronounText:
    'A pronoun has to find its noun, but it is not a noun itself. With one vector for everything, “it” could only look ' +
    'for tokens like itself. With three it asks for one thing, advertises another, and delivers a third.',
  pronounHint: 'Choose a word:',
  inWords: 'In words, as we would put it. A trained layer says it in numbers, and not always so neatly.',

  chainTitle: 'From X to O, a matrix at a time',
  chainText:
    'The numbers are those of the next part, where you can change them. X and the three W stand here by their shapes: ' +
    'any that give these Q, K and V will do.',
  pick: 'Which token asks?',
  pickHint:
    'Its row lights up in Q, in S, in A and in O. K and V light up whole: to answer one query, every key and every ' +
    'value is read.',
  step: 'Step',
  steps: {
    x: 'The input: one row for each token, C numbers in it.',
    qkv: 'Each row is projected three times. A row of Q, K or V still belongs to one token.',
    s: 'The query is compared with every key: one dot product each, divided by √2. Here tokens meet for the first time.',
    a: 'Softmax turns each row of scores into weights that sum to 1: how the token divides its attention.',
    o: 'The weights mix the rows of V. What comes out is as wide as V, one row for each query.',
  },
  spoken: {
    s: 'Q times K transposed, divided by the square root of two',
    a: 'softmax of S',
    o: 'A times V',
  },
  reads: (token: string, list: string) => `${token} reads ${list}.`,
  readsPart: (weight: string, token: string) => `${weight} of ${token}`,
};
