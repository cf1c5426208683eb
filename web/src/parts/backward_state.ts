// The state of part 8: the numbers, the step of the differences, and how sharp the scores are.
import { computed } from '@preact/signals';
import example from '../../../examples/backward.json';
import { real, table } from '../model/codec';
import type { Document, Values } from '../model/document';
import { createLink } from '../model/link';
import { property } from '../model/state';
import { live } from '../source/live';

type Rows = readonly (readonly number[])[];
const [ROWS, COLUMNS] = [3, 4];
const rows = (name: string, initial: Rows) => property<Rows>(`backward.${name}`, table(ROWS, COLUMNS), initial);

export const backwardTensors = {
  q: rows('q', example.q),
  k: rows('k', example.k),
  v: rows('v', example.v),
  d_output: rows('do', example.d_output),
};
export type BackwardTensor = keyof typeof backwardTensors;

export const LEAST_EXPONENT = -13;
/** The step of the differences is 10 to this. */
export const backwardExponent = property('backward.step', real(LEAST_EXPONENT, 0), -6);
/** Scores are multiplied by 2 to this. */
export const backwardSharpness = property('backward.sharp', real(0, 6), 0);
export const backwardLink = createLink();

export function setBackward(name: BackwardTensor, row: number, column: number, value: number) {
  const tensor = backwardTensors[name];
  tensor.value = tensor.peek().map((old, i) => (i === row ? old.map((entry, j) => (j === column ? value : entry)) : old));
}

const steps = Array.from({ length: 27 }, (_, index) => 10 ** (LEAST_EXPONENT + index / 2));

const backwardLive = live(() => ({
  q: backwardTensors.q.value,
  k: backwardTensors.k.value,
  v: backwardTensors.v.value,
  d_output: backwardTensors.d_output.value,
  scale: 2 ** backwardSharpness.value / 2, // 1/√d_k is ½ for the four columns
  backward: true,
  step: 10 ** backwardExponent.value,
  steps,
}));

export interface SweepStep {
  readonly step: number;
  readonly max_errors: Readonly<Record<string, Values>>;
}
export interface BackwardDocument extends Document {
  readonly sweep?: readonly SweepStep[] | null;
}

export const backwardAnswer = computed(() => ({
  document: backwardLive.value.document as BackwardDocument | null,
  error: backwardLive.value.error,
}));
