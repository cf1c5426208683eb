// What the reader can change in part 1, and the documents that follow it.
import { arrow, turnBetween, wrapped } from '../model/direction';
import { matrix, rowOf } from '../model/document';
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

const TURN = 600; // ms, of a turn to a chosen question
let turns = 0;

/** Turns the question there the short way round, so that weights and answer are seen to follow; a hand stops it. */
export function turnTo(degrees: number) {
  const turn = ++turns;
  const from = turned.peek();
  const way = turnBetween(from, degrees);
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) {
    turned.value = degrees;
    return;
  }
  let last = from;
  let start: number | undefined;
  const step = (now: number) => {
    if (turn !== turns || turned.peek() !== last) return;
    start ??= now;
    const part = Math.min(1, (now - start) / TURN);
    last = wrapped(from + way * part * part * (3 - 2 * part)); // slow, fast, slow
    turned.value = last;
    if (part < 1) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

function vector(degrees: number, size: number): readonly number[] {
  const end = arrow(degrees, size);
  return [end.x, end.y];
}

const keys = { k: STOCK.map((key) => vector(key.degrees, 1)), v: STOCK.map((key) => [key.value]), scale: 1 };

export const answer = live(() => ({ ...keys, q: [vector(turned.value, length.value)] }));
export const curve = live(() => ({ ...keys, q: AROUND.map((degrees) => vector(wrapped(degrees), length.value)) }));
export const compared = live(() => ({ q: COMPARED.map((one) => vector(one.degrees, 1)), k: [[1, 0]], v: [[1]] }));

/** One row of a stage of the document that follows the question. */
export function answered(name: string): readonly number[] {
  const { document } = answer.value;
  return document ? rowOf(matrix(document, name), 0) : [];
}
