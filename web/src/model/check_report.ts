// The document of a check (docs/check.md) by type, and what a page reads out of it.
import { largestSize } from './colour';
import { numberOf } from './document';
import type { Axis } from './link';

/** JSON has no NaN and no infinities: they are texts. */
export type Num = number | 'NaN' | 'Infinity' | '-Infinity';

export type Verdict = 'right' | 'wrong' | 'cannot judge';

export interface Worst {
  readonly index: readonly number[];
  readonly got: Num;
  readonly want: Num;
  readonly error: Num;
  readonly bound: Num;
}

export interface Tensor {
  readonly name: string;
  readonly right: boolean;
  readonly elements: number;
  readonly wrong: number;
  readonly largest_error: Num;
  readonly worst?: Worst;
}

export interface Probe {
  readonly problem: string;
  readonly end: string; // "answered" "refused" "crashed" ...
  readonly right: boolean;
  readonly message?: string;
  readonly tensors: readonly Tensor[];
}

export interface Explanation {
  readonly names: readonly string[];
  readonly sentence: string;
  readonly error: Num;
  readonly of_tolerance: Num; // the error, of what rounding may change; 0 where it is not so measured
  readonly probes: number;
  readonly of: number;
}

export interface Policy {
  readonly question: string;
  readonly answer: string | null;
  readonly ours: boolean;
  readonly probes: number;
  readonly agreeing: number;
}

export interface Invariant {
  readonly name: string;
  readonly says: string;
  readonly asked: boolean;
  readonly deviation?: Num;
  readonly bound?: Num;
  readonly holds?: boolean;
}

/** The last two axes of a tensor, cut to what is kept: `first` is the row and column that it begins with. */
export interface CutMatrix {
  readonly at: readonly number[];
  readonly first: readonly [number, number];
  readonly of: readonly [number, number];
  readonly values: readonly (readonly Num[])[];
}

export interface FailingMatrices {
  readonly problem: string;
  readonly tensor: string;
  readonly worst: readonly number[];
  readonly bound: Num; // of the error at the worst element
  readonly got: CutMatrix;
  readonly want: CutMatrix;
  readonly error: CutMatrix;
  readonly weights?: CutMatrix;
  readonly weights_got?: CutMatrix; // of somebody who can be asked
}

export interface CheckReport {
  readonly qkv: string;
  readonly verdict: Verdict;
  readonly headline: string;
  readonly subject: string;
  /** Wrong are the unanswered (it crashed, hung, gave an error) and what is wrong of the answered. */
  readonly counts: { readonly answered: number; readonly unanswered: number; readonly wrong: number; readonly refused: number };
  readonly pairs_of_options: boolean;
  readonly mistakes: readonly Explanation[];
  readonly partial: readonly Explanation[];
  /** The option under which given numbers would be right. */
  readonly not_asked?: string;
  readonly told_apart_by?: string;
  readonly error?: { readonly bounds: Num; readonly correlation: Num; readonly places: readonly string[] };
  readonly leak?: { readonly index: readonly number[]; readonly weight: Num };
  readonly policies: readonly Policy[];
  readonly invariants: readonly Invariant[];
  readonly same_bits: boolean;
  readonly would_pass_too: readonly string[];
  readonly smallest?: string;
  readonly replay?: string;
  readonly matrices: readonly FailingMatrices[];
  readonly probes: readonly Probe[];
}

/** "WRONG: equals …; 3 of 41 probes fail, first: …" in two: what it is, and how much of it there is. */
export function splitHeadline(headline: string): readonly [string, string] {
  const at = headline.search(/; \d+ of \d+ probes fail/);
  return at < 0 ? [headline, ''] : [headline.slice(0, at), headline.slice(at + 2)];
}

export type Outcome = 'right' | 'wrong' | 'refused';

export function outcomeOf(probe: Probe): Outcome {
  if (probe.end === 'refused') return 'refused';
  return probe.right ? 'right' : 'wrong';
}

/** The first probe that fails. */
export function firstFailure(report: CheckReport): Probe | undefined {
  return report.probes.find((probe) => outcomeOf(probe) === 'wrong');
}

/** The matrices of a problem, if any of its tensors failed. */
export function matricesOf(report: CheckReport, problem: string | undefined): FailingMatrices | undefined {
  return report.matrices.find((one) => one.problem === problem);
}

/** What the rows and columns of a tensor's matrix count. */
export function axesOf(tensor: string): { readonly rows: Axis; readonly columns: Axis } {
  switch (tensor) {
    case 'o':
    case 'dq':
    case 'y': // of a layer or a LayerNorm: its rows are tokens, which ask
    case 'dx':
      return { rows: 'query', columns: 'channel' };
    case 'dk':
    case 'dv':
    case 'cache_k':
    case 'cache_v':
      return { rows: 'key', columns: 'channel' };
    case 'dbias':
    case 'weights':
      return { rows: 'query', columns: 'key' };
    case 'lse':
      return { rows: 'query', columns: 'none' };
    default:
      return { rows: 'none', columns: 'none' };
  }
}

const LETTERS: Readonly<Record<Axis, string>> = { query: 'q', key: 'k', channel: 'c', feature: 'd', none: '' };

/** The names of an axis, by the letter of what it counts: "q0", "q1". They count from 0, as the checker does. */
export function namesOf(axis: Axis, first: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${LETTERS[axis]}${first + index}`);
}

/** Whether a matrix is a part of a larger one. */
export function isCut({ of, values }: CutMatrix): boolean {
  return values.length < of[0] || (values[0]?.length ?? 0) < of[1];
}

const FEWEST = 2;
const MOST = 9;

/** As many decimals as let a number of that size be seen by `digits` digits. */
export function decimalsFor(size: number, digits: number): number {
  if (!Number.isFinite(size) || size <= 0) return FEWEST;
  return Math.max(FEWEST, Math.min(MOST, digits - 1 - Math.floor(Math.log10(size))));
}

/** How the numbers of a failure are shown: what the strongest colours stand for, and how many decimals there are. */
export function lookOf({ got, want, error, bound }: FailingMatrices) {
  const sizes = (...all: readonly CutMatrix[]) => largestSize(all.flatMap((one) => numbersOf(one)));
  const most = sizes(got, want);
  // What may be rounding is pale. Where numbers differ by more they look different; of a NaN there is nothing to see.
  const off = Math.max(sizes(error), numberOf(bound));
  const isSeen = off > numberOf(bound);
  return { most, off, decimals: Math.max(decimalsFor(most, 3), isSeen ? decimalsFor(off, 2) : 0), decimalsOff: decimalsFor(off, 3) };
}

export const numbersOf = ({ values }: CutMatrix) => values.map((row) => row.map(numberOf));

/** Where the worst element stands in what is kept of its matrix. */
export function placeOfWorst({ worst, got }: FailingMatrices): { readonly row: number; readonly column: number } {
  const inner = worst.slice(got.at.length);
  const [row, column] = inner.length === 2 ? [inner[0] ?? 0, inner[1] ?? 0] : got.of[1] === 1 ? [inner[0] ?? 0, 0] : [0, inner[0] ?? 0];
  return { row: row - got.first[0], column: column - got.first[1] };
}
