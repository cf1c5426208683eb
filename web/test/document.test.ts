// Matrices out of documents, and how they are coloured, linked and walked through.
import { describe, expect, it } from 'vitest';
import { colourOf, inkOn, largestSize } from '../src/model/colour';
import { matrix, numberOf, rowOf, type Document, type Stage } from '../src/model/document';
import { movedByKey } from '../src/model/grid_keys';
import { choosePlace, clearLink, createLink, isEmpty, isOn, placeOf } from '../src/model/link';

const stage = (name: string, shape: number[], values: Stage['values']): Stage => ({ name, symbol: name.toUpperCase(), shape, values });

/** Four query heads; each two share a head of keys. The third is looked at, whose keys are the second's. */
const grouped = {
  dims: { Hq: 4, Hkv: 2 },
  select: { row: 0, head: 2, kv_head: 1, batch: 0, batches: 1 },
  inputs: [stage('bias', [1, 2], [[0, '-Infinity']])],
  stages: [
    stage('q', [1, 4, 1, 1], [[[[1]], [[2]], [[3]], [[4]]]]),
    stage('k', [1, 2, 1, 2], [[[[5, 6]], [[7, 8]]]]),
    stage('x', [2], [7, 8]),
  ],
} as unknown as Document;

describe('a document', () => {
  it('gives the matrix of a head', () => {
    expect(matrix(grouped, 'q', 0)?.values).toEqual([[1]]);
    expect(matrix(grouped, 'q', 3)?.values).toEqual([[4]]);
  });

  it('gives every head the keys that it shares', () => {
    expect([0, 1, 2, 3].map((head) => matrix(grouped, 'k', head)?.values)).toEqual([[[5, 6]], [[5, 6]], [[7, 8]], [[7, 8]]]);
  });

  it('gives the head that is looked at, unless another is asked for', () => {
    expect(matrix(grouped, 'q')?.values).toEqual([[3]]);
    expect(matrix(grouped, 'k')?.values).toEqual([[7, 8]]);
  });

  it('gives inputs, single rows, and what JSON cannot say', () => {
    expect(matrix(grouped, 'bias')?.values).toEqual([[0, -Infinity]]);
    expect(matrix(grouped, 'x')?.values).toEqual([[7, 8]]);
    expect(numberOf('NaN')).toBeNaN();
  });

  it('gives nothing for what it does not have', () => {
    expect(matrix(grouped, 'p')).toBeUndefined();
    expect(rowOf(matrix(grouped, 'q'), 5)).toEqual([]);
  });
});

describe('a colour', () => {
  it('is strongest at the ends, which hold what lies beyond', () => {
    expect(colourOf(7, 'weights', 1)).toBe(colourOf(1, 'weights', 1));
    expect(colourOf(-3, 'diverging', 1)).toBe(colourOf(-1, 'diverging', 1));
    expect(colourOf(-1, 'diverging', 1)).not.toBe(colourOf(1, 'diverging', 1));
  });

  it('is none for what is no number', () => {
    expect(colourOf(-Infinity, 'diverging', 1)).toBe('transparent');
    expect(largestSize([[-Infinity, 2, NaN, -3]])).toBe(3);
  });

  it('bears an ink that can be read', () => {
    expect(inkOn('rgb(0, 32, 77)')).toBe('#fff');
    expect(inkOn('rgb(255, 234, 70)')).toBe('#000');
  });
});

describe('the keyboard in a grid', () => {
  const at = { row: 1, column: 1 };

  it('moves by arrows and stops at the edges', () => {
    expect(movedByKey(at, 'ArrowRight', false, 3, 2)).toEqual(at);
    expect(movedByKey(at, 'ArrowUp', false, 3, 2)).toEqual({ row: 0, column: 1 });
    expect(movedByKey(at, 'PageDown', false, 3, 2)).toEqual({ row: 2, column: 1 });
  });

  it('goes along the row by Home and End, with Ctrl to the corners', () => {
    expect(movedByKey(at, 'Home', false, 3, 2)).toEqual({ row: 1, column: 0 });
    expect(movedByKey(at, 'Home', true, 3, 2)).toEqual({ row: 0, column: 0 });
    expect(movedByKey(at, 'End', true, 3, 2)).toEqual({ row: 2, column: 1 });
    expect(movedByKey(at, 'x', false, 3, 2)).toBeNull();
  });

  it('reaches the names of rows and columns, never the corner between them, and comes back', () => {
    const heads = { rows: true, columns: true };
    const rowName = movedByKey({ row: 0, column: 0 }, 'ArrowLeft', false, 3, 2, heads);
    const columnName = movedByKey({ row: 0, column: 0 }, 'ArrowUp', false, 3, 2, heads);
    expect([rowName, columnName]).toEqual([{ row: 0, column: -1 }, { row: -1, column: 0 }]);
    expect(movedByKey({ row: 0, column: -1 }, 'ArrowUp', false, 3, 2, heads)).toEqual({ row: 0, column: -1 });
    expect(movedByKey({ row: -1, column: 0 }, 'ArrowLeft', false, 3, 2, heads)).toEqual({ row: -1, column: 0 });
    expect(movedByKey({ row: 0, column: -1 }, 'ArrowRight', false, 3, 2, heads)).toEqual({ row: 0, column: 0 });
    expect(movedByKey({ row: -1, column: 1 }, 'ArrowDown', false, 3, 2, heads)).toEqual({ row: 0, column: 1 });
    expect(movedByKey({ row: 0, column: 0 }, 'ArrowLeft', false, 3, 2)).toEqual({ row: 0, column: 0 });
  });
});

describe('a link between matrices', () => {
  it('lights column j of A as row j of K and V, and not as a row of Q', () => {
    const place = placeOf('query', 'key', 0, 2);
    expect(isOn(place, 'key', 2)).toBe(true);
    expect(isOn(place, 'query', 2)).toBe(false);
    expect(isOn(place, 'query', 0)).toBe(true);
    expect(isOn(placeOf('query', 'none', 1, 0), 'none', 0)).toBe(false);
  });

  it('is one row or one column where a name is pointed at', () => {
    expect(placeOf('query', 'key', 1, -1)).toEqual({ query: 1 });
    expect(placeOf('query', 'key', -1, 2)).toEqual({ key: 2 });
    expect([isEmpty({ key: 0 }), isEmpty(placeOf('query', 'none', -1, 0))]).toEqual([false, true]);
  });

  it('pins by a click, compares with shift, lets go by a second click, and is cleared', () => {
    const link = createLink();
    choosePlace(link, { query: 1 }, false);
    choosePlace(link, { query: 2 }, true);
    expect([link.pin.value, link.compare.value]).toEqual([{ query: 1 }, { query: 2 }]);
    choosePlace(link, { query: 1 }, false);
    expect(link.pin.value).toBeNull();
    clearLink(link);
    expect(link.compare.value).toBeNull();
  });
});
