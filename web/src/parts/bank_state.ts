// The state of part 3: every number of the example, and who asks.
import example from '../../../examples/bank.json';
import { integer, table } from '../model/codec';
import { createLink } from '../model/link';
import { property } from '../model/state';
import { live } from '../source/live';

type Rows = readonly (readonly number[])[];
const [ROWS, COLUMNS] = [example.k.length, 2];

export const bankWords = { tokens: example.tokens, axes: example.value_axes };
export const bankRow = property('bank.row', integer(0, ROWS - 1), example.row);
export const bankTensors = {
  q: property<Rows>('bank.q', table(ROWS, COLUMNS), example.q),
  k: property<Rows>('bank.k', table(ROWS, COLUMNS), example.k),
  v: property<Rows>('bank.v', table(ROWS, COLUMNS), example.v),
};
export const bankLink = createLink();

export function setEntry(name: 'q' | 'k' | 'v', row: number, column: number, value: number) {
  const tensor = bankTensors[name];
  tensor.value = tensor.peek().map((entries, i) => (i === row ? entries.map((old, j) => (j === column ? value : old)) : entries));
}

export function setRow(name: 'q' | 'k' | 'v', row: number, entries: readonly number[]) {
  const tensor = bankTensors[name];
  tensor.value = tensor.peek().map((old, i) => (i === row ? entries : old));
}

/** The document of the present numbers. Part 2 shows the same one. */
export const bankLive = live(() => ({
  q: bankTensors.q.value,
  k: bankTensors.k.value,
  v: bankTensors.v.value,
  tokens: bankWords.tokens,
  value_axes: bankWords.axes,
  row: bankRow.value,
}));
