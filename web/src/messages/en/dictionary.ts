// Part 1 in English: a soft dictionary.
export const dictionary = {
  title: 'A soft dictionary',
  lead:
    'Attention is a dictionary that answers softly. Ask both of these the same thing: one wants the exact key, ' +
    'the other compares your question with every key and answers with a blend of all the values.',

  stock: 'stock',
  words: { apple: 'apple', pear: 'pear', plum: 'plum' },

  ask: 'Ask for',
  askHint: 'Plum is not in stock: it has a direction, but no key lies there.',
  turn: 'Turn the question',
  turnHint: 'Drag the blue arrow, use the slider, or press the arrow keys on either.',
  turnValue: (degrees: string) => `${degrees} degrees`,
  turnAtKey: (degrees: string, key: string) => `${degrees} degrees, exactly at ${key}`,
  turnAtPlum: (degrees: string) => `${degrees} degrees, at plum, where there is no key`,
  length: 'Length of the question',
  lengthHint:
    'A longer arrow makes every score larger, and so the choice sharper. At 12 this is almost the hard dictionary; ' +
    'at 0 nothing is asked and every value counts the same.',

  hardTitle: 'A dictionary',
  hardText: 'The key must match exactly. One value comes back.',
  hardFound: (key: string, value: string) => `${key} is a key. Its value is ${value}.`,
  hardMissing: 'KeyError: no key points exactly this way.',
  hardMissingPlum: "KeyError: 'plum'",
  hardNear: 'One degree off and there is no answer; nothing tells you which way to turn.',

  softTitle: 'A soft dictionary',
  softText: 'Every key is compared. The weighted average of all the values comes back.',
  dialLabel: 'Direction of the question among the keys',
  key: 'key',
  score: 'score q·k',
  weight: 'weight',
  value: 'value',
  answer: 'answer',
  said: (parts: string, answer: string) => `${parts}; the answer is ${answer}`,
  saidPart: (key: string, weight: string) => `weight on ${key} ${weight}`,

  curveTitle: 'The answer, all the way round',
  curveText:
    'The hard dictionary answers at two points and fails everywhere else. The soft answer is a smooth curve: at every ' +
    'point it has a slope, a gradient, that says which way to turn to get more or less. That is why what to ask can ' +
    'be learned.',
  curveX: 'direction of the question, in degrees',
  curveY: 'answer',
  curveSoft: 'soft',
  curveHard: 'hard',

  dotTitle: 'How two arrows are compared',
  dotText:
    'The dot product multiplies the arrows number by number and adds. It is large when they point the same way, near ' +
    'zero when they have nothing to do with each other, and negative when they are opposed.',
  dotProduct: 'dot product',
  dotSame: 'the same way',
  dotUnrelated: 'unrelated',
  dotOpposed: 'opposed',
  dotPicture: (name: string, value: string) => `Two arrows, ${name}: their dot product is ${value}`,
};
