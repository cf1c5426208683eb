// What the reader can change in part 1, and the documents that follow it.
import { arrow, wrapped } from '../model/direction';
import { integer, real } from '../model/codec';
import { property } from '../model/state';
import { live } from '../source/live';

/** The keys of the stock: where they point and what they hold. */
export const STOCK = [
  { name: 'apple', degrees: 20, value: 3 },
  { name: 'pear', degrees: 110, value: 7 },
] as const;
/** Nearer to a pear than to an apple, but not in stock. */
export const PLUM = 80;

export const LONGEST = 12;
export const turned = property('dictionary.turn', integer(0, 359), 20);
export const length = property('dictionary.length', real(0, LONGEST), 3);

/** Where the curve is computed, in degrees. */
export const AROUND = Array.from({ length: 121 }, (_, at) => at * 3);
export const COMPARED = [
  { name: 'dotSame', degrees: 20 },
  { name: 'dotUnrelated', degrees: 90 },
  { name: 'dotOpposed', degrees: 155 },
] as const;

function vector(degrees: number, size: number): readonly number[] {
  const end = arrow(degrees, size);
  return [end.x, end.y];
}

const keys = { k: STOCK.map((key) => vector(key.degrees, 1)), v: STOCK.map((key) => [key.value]), scale: 1 };

export const answer = live(() => ({ ...keys, q: [vector(turned.value, length.value)] }));
export const curve = live(() => ({ ...keys, q: AROUND.map((degrees) => vector(wrapped(degrees), length.value)) }));
export const compared = live(() => ({ q: COMPARED.map((one) => vector(one.degrees, 1)), k: [[1, 0]], v: [[1]] }));
