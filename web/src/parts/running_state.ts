// The state of part 5: where one looks in the running example, and its switches.
import example from '../../../examples/running.json';
import { choice, flag, integer } from '../model/codec';
import { createLink } from '../model/link';
import { property } from '../model/state';
import { live } from '../source/live';

export const runningTokens: readonly string[] = example.tokens;
export const runningRow = property('running.row', integer(0, example.tokens.length - 1), example.row);
export const runningHead = property('running.head', choice('0', '1', 'merged'), '0');
export const runningCausal = property('running.causal', flag, false);
export const runningDivide = property('running.divide', flag, true);
export const runningLink = createLink();

export const runningLive = live(() => ({
  example: 'running',
  row: runningRow.value,
  ...(runningHead.value === 'merged' ? {} : { head: Number(runningHead.value) }),
  ...(runningCausal.value ? { causal: 'top_left' } : {}),
  ...(runningDivide.value ? {} : { scale: 1 }),
}));
