// The state of part 7: how the scores are made, and the document that the engine draws of them.
import { computed } from '@preact/signals';
import { choice, flag, integer, real } from '../model/codec';
import type { ScoresDocument } from '../model/scores_document';
import { property } from '../model/state';
import { language } from '../model/view_state';
import { createLink } from '../model/link';
import { live } from '../source/live';
import { LONGEST, sentence } from './matrix_sentence';

export const WIDEST = 256;
const MOST_WEIGHT = 3;

export const scoreFunctions = ['content', 'previous', 'decay', 'mix'] as const;
export const matrixFunction = property('matrix.function', choice(...scoreFunctions), 'content');
export const matrixTokens = property('matrix.n', integer(4, LONGEST), 24);
export const matrixWidth = property('matrix.d', integer(1, WIDEST), 64);
export const matrixSeed = property('matrix.seed', integer(0, 1e9), 1);
export const matrixDivide = property('matrix.divide', flag, true);
export const matrixMix = [
  property('matrix.content', real(0, MOST_WEIGHT), 1),
  property('matrix.previous', real(0, MOST_WEIGHT), 0.5),
  property('matrix.decay', real(0, MOST_WEIGHT), 0.5),
];
export const matrixLink = createLink();

export const matrixSentence = computed(() => sentence(language.value, matrixTokens.value));

const matrixLive = live(() => ({
  op: 'scores',
  n: matrixTokens.value,
  d_k: matrixWidth.value,
  seed: matrixSeed.value,
  function: matrixFunction.value,
  ...(matrixFunction.value === 'mix' ? { mix: matrixMix.map((weight) => weight.value) } : {}),
  divide: matrixDivide.value,
  targets: matrixSentence.value.targets,
}));

export const matrixScores = computed(() => ({
  document: matrixLive.value.document as unknown as ScoresDocument | null,
  error: matrixLive.value.error,
}));
