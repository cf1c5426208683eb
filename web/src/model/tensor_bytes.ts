// Arrays in a file's bytes: their types, their sizes, their numbers as float64.

/** What is wrong with a file; the page says it in the reader's language. */
export type Problem =
  | 'tooLarge' | 'unknownKind' | 'notZip' | 'notNpy' | 'npyVersion' | 'fortran' | 'type' | 'cut' | 'notSafetensors'
  | 'offsets' | 'notJson' | 'ragged' | 'missing' | 'rank' | 'fit' | 'heads' | 'pairs';

export class FileProblem extends Error {
  override readonly name = 'FileProblem';
  readonly problem: Problem;
  readonly values: readonly string[];
  constructor(problem: Problem, ...values: readonly (string | number)[]) {
    super(`${problem}: ${values.join(', ')}`);
    this.problem = problem;
    this.values = values.map(String);
  }
}

export interface Tensor {
  readonly shape: readonly number[];
  readonly values: Float64Array;
}

type Read = (view: DataView, at: number) => number;

/** A half's sign, exponent and fraction (IEEE 754 binary16). */
function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

const scratch = new DataView(new ArrayBuffer(4));
function bfloat(bits: number): number {
  scratch.setUint32(0, bits << 16);
  return scratch.getFloat32(0);
}

const TYPES: Readonly<Record<string, readonly [number, Read]>> = {
  F64: [8, (view, at) => view.getFloat64(at, true)],
  F32: [4, (view, at) => view.getFloat32(at, true)],
  F16: [2, (view, at) => half(view.getUint16(at, true))],
  BF16: [2, (view, at) => bfloat(view.getUint16(at, true))],
  BOOL: [1, (view, at) => view.getUint8(at)],
  U8: [1, (view, at) => view.getUint8(at)],
};

/** The numbers of a tensor of type `type` that fills `bytes`. */
export function tensorOf(name: string, type: string, shape: readonly number[], bytes: Uint8Array): Tensor {
  const known = TYPES[type];
  if (!known) throw new FileProblem('type', name, type);
  const [size, read] = known;
  const count = shape.reduce((product, extent) => product * extent, 1);
  if (count * size !== bytes.length) throw new FileProblem('cut', name, count * size, bytes.length);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values = new Float64Array(count);
  for (let i = 0; i < count; ++i) values[i] = read(view, i * size);
  return { shape, values };
}

export function isExtent(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 1e9;
}
