// Problems drawn at random, the same ones every time, for attention and for the float64 reference in explain.
import type { AttentionOptions, Tensor } from '../src/types';

/** Numbers in [0, 1) from a seed (mulberry32). */
export function uniform(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export function tensor(draw: () => number, ...shape: number[]): Tensor {
  const data = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => (draw() - 0.5) * 4);
  return { data, shape };
}

/** Nested lists, as explain takes a tensor. */
export function nested({ data, shape }: { data: ArrayLike<number>; shape: readonly number[] }): unknown {
  const [extent = 1, ...rest] = shape;
  if (rest.length === 0) return Array.from(data);
  const each = data.length / extent;
  return Array.from({ length: extent }, (_, i) => nested({ data: Array.from(data).slice(i * each, (i + 1) * each), shape: rest }));
}

export interface Problem {
  readonly name: string;
  /** B, Hq, Hkv, Tq, Tk, D, Dv. */
  readonly sizes: readonly [number, number, number, number, number, number, number];
  readonly options: AttentionOptions;
}

const draw = uniform(2026);
const mask = (...shape: number[]) => {
  const { data } = tensor(draw, ...shape);
  return { data: Uint8Array.from(data, (value) => Number(value > -1)), shape };
};
const hidden = (bias: Tensor): Tensor => ({ ...bias, data: bias.data.map((value) => (value > 1.5 ? -Infinity : value)) });

/** Every option, alone and with others, at sizes that are multiples of nothing. */
export const PROBLEMS: readonly Problem[] = [
  { name: 'plain', sizes: [1, 1, 1, 7, 11, 5, 3], options: {} },
  { name: 'several heads and batch entries', sizes: [2, 3, 3, 9, 9, 8, 8], options: {} },
  { name: 'grouped heads', sizes: [2, 6, 2, 13, 17, 16, 12], options: {} },
  { name: 'wide, several blocks of keys', sizes: [1, 2, 1, 70, 300, 64, 80], options: {} },
  { name: 'causal', sizes: [1, 2, 2, 33, 33, 16, 16], options: { causal: true } },
  { name: 'causal from the bottom right', sizes: [1, 2, 1, 5, 19, 8, 8], options: { causal: 'bottom_right' } },
  { name: 'causal from the top left', sizes: [1, 2, 1, 19, 5, 8, 8], options: { causal: true, corner: 'top_left' } },
  { name: 'an offset, with rows that see nothing', sizes: [1, 1, 1, 9, 9, 4, 4], options: { causal: 'offset:-3' } },
  { name: 'a window', sizes: [1, 2, 2, 40, 40, 8, 8], options: { window: [5, 2] } },
  { name: 'a window that is open on the left', sizes: [1, 1, 1, 12, 20, 8, 8], options: { window: [-1, 1], corner: 'bottom_right' } },
  { name: 'scale', sizes: [1, 1, 1, 6, 6, 4, 4], options: { scale: -0.7 } },
  { name: 'softcap', sizes: [1, 2, 1, 10, 10, 8, 8], options: { softcap: 1.5, scale: 2 } },
  { name: 'a keep-mask that broadcasts', sizes: [2, 2, 2, 8, 9, 4, 4], options: { keep: mask(2, 1, 8, 9) } },
  { name: 'a keep-mask and causal', sizes: [1, 2, 2, 8, 8, 4, 4], options: { keep: mask(8, 8), causal: true } },
  { name: 'a key mask', sizes: [2, 2, 1, 8, 9, 4, 4], options: { key_mask: mask(2, 9) } },
  { name: 'a bias with keys hidden', sizes: [1, 2, 2, 8, 9, 4, 4], options: { bias: hidden(tensor(draw, 2, 8, 9)) } },
  { name: 'key lengths', sizes: [3, 2, 1, 6, 10, 4, 4], options: { key_lengths: Int32Array.of(10, 0, 4) } },
  { name: 'packed sequences', sizes: [1, 2, 2, 9, 12, 4, 4], options: { cu_seqlens_q: [0, 4, 4, 9], cu_seqlens_k: [0, 6, 7, 12] } },
  { name: 'slopes', sizes: [1, 4, 2, 11, 11, 8, 8], options: { slopes: [0.5, 0.25, 0.125, 0.0625], causal: true } },
  { name: 'sinks', sizes: [1, 2, 1, 6, 7, 4, 4], options: { sinks: Float32Array.of(0.5, -Infinity) } },
  {
    name: 'everything at once',
    sizes: [2, 4, 2, 21, 25, 12, 10],
    options: {
      causal: 'bottom_right',
      window: [12, 4],
      keep: mask(4, 21, 25),
      key_mask: mask(2, 25),
      bias: tensor(draw, 1, 25),
      slopes: [0.1, 0.2, 0.3, 0.4],
      sinks: [0, 1, -1, 2],
      softcap: 4,
      scale: 0.6,
      key_lengths: [25, 19],
    },
  },
];
