// What the reader can look at in part 2. Its numbers are those of part 3.
import { choice, integer } from '../model/codec';
import { createLink } from '../model/link';
import { property } from '../model/state';

export const STEPS = ['x', 'qkv', 's', 'a', 'o'] as const;
export type StepName = (typeof STEPS)[number];
export const SPEAKERS = ['noun', 'pronoun', 'adjective'] as const;

/** Who asks. */
export const asker = property('projections.row', integer(0, 2), 1);
/** How far the chain is shown. */
export const reached = property('projections.step', choice(...STEPS), 'o');
/** Which word of the sentence speaks. */
export const speaker = property('projections.word', choice(...SPEAKERS), 'pronoun');

export const chainLink = createLink();

export function isReached(step: StepName): boolean {
  return STEPS.indexOf(step) <= STEPS.indexOf(reached.value);
}
