// What the report of a check reads out of its document.
import { describe, expect, it } from 'vitest';
import { axesOf, decimalsFor, isCut, lookOf, namesOf, outcomeOf, placeOfWorst, splitHeadline, type CutMatrix, type FailingMatrices, type Num, type Probe } from '../src/model/check_report';

const cut = (at: number[], first: [number, number], of: [number, number], rows: number, columns: number): CutMatrix => ({
  at, first, of, values: Array.from({ length: rows }, () => Array<number>(columns).fill(0)),
});
const matrices = (tensor: string, worst: number[], got: CutMatrix): FailingMatrices => ({
  problem: 'attention', tensor, worst, bound: 1e-6, got, want: got, error: got, weights: got,
});

describe('splitHeadline', () => {
  it('parts what it is from how much of it there is', () => {
    expect(splitHeadline('WRONG: equals attention with a; 3 of 41 probes fail, first: attention T3x5')).toEqual([
      'WRONG: equals attention with a', '3 of 41 probes fail, first: attention T3x5',
    ]);
  });

  it('leaves a sentence whole that says no count, also one with a semicolon', () => {
    const headline = 'CANNOT JUDGE: no answer has a gradient; ask less';
    expect(splitHeadline(headline)).toEqual([headline, '']);
  });
});

describe('outcomeOf', () => {
  const probe = (end: string, right: boolean): Probe => ({ problem: '', end, right, tensors: [] });

  it('counts a refusal as neither right nor wrong, and a crash as wrong', () => {
    expect([probe('answered', true), probe('answered', false), probe('refused', true), probe('crashed', false)].map(outcomeOf)).toEqual([
      'right', 'wrong', 'refused', 'wrong',
    ]);
  });
});

describe('placeOfWorst', () => {
  it('is the last two indices, less where the cut begins', () => {
    expect(placeOfWorst(matrices('o', [1, 3, 69, 39], cut([1, 3], [38, 8], [70, 40], 32, 32)))).toEqual({ row: 31, column: 31 });
  });

  it('is a row of the column that lse is', () => {
    expect(placeOfWorst(matrices('lse', [0, 1, 2], cut([0, 1], [0, 0], [3, 1], 3, 1)))).toEqual({ row: 2, column: 0 });
  });

  it('is a column of the row that dsinks are', () => {
    expect(placeOfWorst(matrices('dsinks', [5], cut([], [0, 0], [1, 6], 1, 6)))).toEqual({ row: 0, column: 5 });
  });
});

describe('isCut', () => {
  it('is false of a whole matrix and true of a part', () => {
    expect([isCut(cut([], [0, 0], [3, 4], 3, 4)), isCut(cut([], [0, 2], [3, 40], 3, 32))]).toEqual([false, true]);
  });
});

describe('namesOf', () => {
  it('counts from where the cut begins, by the letter of what is counted', () => {
    expect(namesOf(axesOf('dk').rows, 7, 3)).toEqual(['k7', 'k8', 'k9']);
    expect(namesOf(axesOf('cache_v').rows, 0, 1)).toEqual(['k0']);
    expect(namesOf(axesOf('y').rows, 2, 1)).toEqual(['q2']);
    expect(namesOf(axesOf('something new').rows, 0, 2)).toEqual(['0', '1']);
  });
});

describe('decimalsFor', () => {
  it('shows the first digits of a number of any size', () => {
    expect([1234, 5.5, 0.5, 0.00032, 1e-30].map((size) => decimalsFor(size, 3))).toEqual([2, 2, 3, 6, 9]);
  });

  it('has a few for what has no size', () => {
    expect([0, Infinity, NaN].map((size) => decimalsFor(size, 3))).toEqual([2, 2, 2]);
  });
});

describe('lookOf', () => {
  const shown = (got: Num, want: Num, error: Num) => {
    const one = (value: Num): CutMatrix => ({ at: [], first: [0, 0], of: [1, 1], values: [[value]] });
    return lookOf({ ...matrices('o', [0, 0], one(0)), got: one(got), want: one(want), error: one(error), bound: 1e-6 });
  };

  it('lets numbers look different that differ by more than rounding', () => {
    expect(shown(0.5003, 0.5, 3e-4)).toEqual({ most: 0.5003, off: 3e-4, decimals: 5, decimalsOff: 6 });
  });

  it('keeps what may be rounding pale, and numbers short, beside a NaN', () => {
    expect(shown('NaN', 0.5, 'NaN')).toEqual({ most: 0.5, off: 1e-6, decimals: 3, decimalsOff: 8 });
  });
});
