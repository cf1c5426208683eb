// The package's attention against the lesson's numbers and, on random problems, the float64 reference.
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import type { AttentionOptions, Engine, Tensor } from '../src/types';
import { nested, PROBLEMS, tensor, uniform, type Problem } from './problems';

const lesson = (name: string) => JSON.parse(readFileSync(`../tests/data/lesson/${name}.json`, 'utf8'));
let qkv: Engine;
beforeAll(async () => {
  const built = (await import('../../../build-npm/node.js' as string)) as { load: () => Promise<Engine> };
  qkv = await built.load();
});

const matrix = (rows: readonly number[][]): Tensor => ({
  data: Float32Array.from(rows.flat()),
  shape: [rows.length, rows[0]?.length ?? 0],
});

function expectClose(found: ArrayLike<number>, expected: readonly number[], what: string) {
  expect(found.length, what).toBe(expected.length);
  const wrong = Array.from(found).flatMap((value, i) => {
    const right = expected[i] ?? NaN;
    return value === right || Math.abs(value - right) <= 2e-6 * (1 + Math.abs(right)) ? [] : [`${i}: ${value}, not ${right}`];
  });
  expect(wrong, what).toEqual([]);
}

describe('the lesson', () => {
  test('bank', () => {
    const { q, k, v, expected } = lesson('bank');
    const { o, lse } = qkv.attention(matrix(q), matrix(k), matrix(v));
    expect([o.shape, lse.shape]).toEqual([[3, 2], [3]]);
    expectClose(o.data, expected.output.flat(), 'o');
    expectClose(lse.data, expected.lse, 'lse');
  });

  test.each(['full', 'unscaled', 'causal'])('running, both heads, %s', (variant) => {
    const options: AttentionOptions = { full: {}, unscaled: { scale: 1 }, causal: { causal: true } }[variant] ?? {};
    for (const head of lesson('running').heads) {
      const { o, lse } = qkv.attention(matrix(head.q), matrix(head.k), matrix(head.v), options);
      expectClose(o.data, head[variant].output.flat(), 'o');
      expectClose(lse.data, head[variant].lse, 'lse');
    }
  });
});

/** o and lse of every batch entry by the reference, whose texts for infinities become numbers. */
function reference(q: Tensor, k: Tensor, v: Tensor, options: AttentionOptions) {
  const { keep, key_mask, bias, ...others } = options;
  const tensors = { q, k, v, keep, key_mask, bias };
  const given = Object.fromEntries(Object.entries(tensors).flatMap(([name, value]) => (value ? [[name, nested(value)]] : [])));
  const values = { o: [] as number[], lse: [] as number[] };
  for (let batch = 0; batch < (q.shape[0] ?? 1); ++batch) {
    const document = qkv.explain({ ...given, ...others, batch });
    for (const stage of document['stages'] as unknown as { name: 'o' | 'lse'; values: (number | string)[] }[])
      values[stage.name]?.push(...[stage.values].flat(Infinity as 1).map(Number));
  }
  return values;
}

function drawn({ sizes: [B, Hq, Hkv, Tq, Tk, D, Dv] }: Problem, seed: number) {
  const draw = uniform(seed);
  return [tensor(draw, B, Hq, Tq, D), tensor(draw, B, Hkv, Tk, D), tensor(draw, B, Hkv, Tk, Dv)] as const;
}

/** [B,H,T,D] as [B,T,H,D]. */
function tokensFirst({ data, shape: [B = 1, H = 1, T = 1, D = 1] }: Tensor): Tensor {
  const at = (i: number) => data[(((Math.floor(i / (T * H * D)) * H + (Math.floor(i / D) % H)) * T + (Math.floor(i / (H * D)) % T)) * D) + (i % D)];
  return { data: data.map((_, i) => at(i) ?? NaN), shape: [B, T, H, D] };
}

describe.each(PROBLEMS)('$name', (problem) => {
  const seed = PROBLEMS.indexOf(problem) + 1;

  test('is the reference to float32', () => {
    const [q, k, v] = drawn(problem, seed);
    const expected = reference(q, k, v, problem.options);
    const { o, lse } = qkv.attention(q, k, v, problem.options);
    const [B, Hq, , Tq, , , Dv] = problem.sizes;
    expect([o.shape, lse.shape]).toEqual([[B, Hq, Tq, Dv], [B, Hq, Tq]]);
    expectClose(o.data, expected.o, 'o');
    expectClose(lse.data, expected.lse, 'lse');
  });

  test('gives the same bits with tokens before heads', () => {
    const [q, k, v] = drawn(problem, seed);
    const { o, lse } = qkv.attention(q, k, v, problem.options);
    const other = qkv.attention(tokensFirst(q), tokensFirst(k), tokensFirst(v), { ...problem.options, layout: 'bthd' });
    expect(other).toEqual({ o: tokensFirst(o), lse });
  });
});

test('nothing at all gives nothing, and no key an empty row', () => {
  const none = (...shape: number[]): Tensor => ({ data: new Float32Array(0), shape });
  expect(qkv.attention(none(0, 2), none(0, 2), none(0, 3)).o).toEqual(none(0, 3));
  const { o, lse } = qkv.attention({ data: Float32Array.of(1, 2), shape: [1, 2] }, none(0, 2), none(0, 3));
  expect([[...o.data], [...lse.data]]).toEqual([[0, 0, 0], [-Infinity]]);
});

describe('what is refused, and what it says', () => {
  const t = (...shape: number[]) => tensor(uniform(1), ...shape);
  const cases: [string, () => unknown, string][] = [
    ['a width that differs', () => qkv.attention(t(3, 2), t(3, 4), t(3, 2)), 'attention: k [B,Hkv,Tk,D] is [1,1,3,4], but D is 2 by q [1,1,3,2]'],
    ['data that does not fill its shape', () => qkv.attention({ ...t(3, 2), shape: [3, 3] }, t(3, 2), t(3, 2)), 'attention: q.data has 6 numbers, but q.shape is [3,3]'],
    ['an option that there is not', () => qkv.attention(t(3, 2), t(3, 2), t(3, 2), { casual: true } as AttentionOptions), 'attention: there is no field "casual"; did you mean "causal"?'],
    ['causal without a corner', () => qkv.attention(t(3, 2), t(4, 2), t(4, 2), { causal: true }), 'bottom_right'],
    ['a corner that nothing depends on', () => qkv.attention(t(3, 2), t(4, 2), t(4, 2), { corner: 'top_left' }), 'attention: corner has no effect without causal, window or slopes'],
    ['a scale that is no number', () => qkv.attention(t(3, 2), t(4, 2), t(4, 2), { scale: NaN }), 'attention: scale is "NaN"; expected a number'],
    ['lists instead of typed arrays', () => qkv.attention({ data: [1, 2] as unknown as Float32Array, shape: [1, 2] }, t(1, 2), t(1, 2)), 'attention: q.data is Array; expected {data: Float32Array, shape: a list of extents}'],
    ['a tensor without a shape', () => qkv.attention({ data: Float32Array.of(1, 2) } as Tensor, t(1, 2), t(1, 2)), 'attention: q.shape'],
    ['a missing tensor', () => qkv.attention(t(3, 2), t(3, 2), undefined as unknown as Tensor), 'attention: v is undefined; expected'],
    ['a float mask', () => qkv.attention(t(3, 2), t(3, 2), t(3, 2), { keep: t(3, 3) as never }), 'attention: keep.data is Float32Array; expected {data: Uint8Array'],
    ['an example that there is not', () => qkv.explain({ example: 'banc' }), 'explain: there is no example "banc"; did you mean "bank"?'],
  ];
  test.each(cases)('%s', (_name, work, message) => {
    expect(work).toThrow(message);
    expect(qkv.explain({ example: 'bank' })['kind']).toBe('attention'); // and the engine is well
  });
});
