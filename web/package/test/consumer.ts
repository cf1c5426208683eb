// What a user of the package writes; compiled by the strictest rules against the types that it ships, and run by Node.
import { attention, explain, load, QkvError, type AttentionOptions, type ErrorCode, type Tensor } from 'qkv';

const x: Tensor = { data: Float32Array.of(1, 0, 0, 1), shape: [2, 2] };
const options: AttentionOptions = { causal: 'bottom_right', window: [1, -1], sinks: [0], key_lengths: Int32Array.of(2) };
const { o, lse } = await attention(x, x, x, options);
const numbers: Float32Array = o.data;
const axes: readonly number[] = lse.shape;

// @ts-expect-error: a list is not what attention takes
const list: Tensor = { data: [1, 0], shape: [1, 2] };
// @ts-expect-error: no such corner
const corner: AttentionOptions = { corner: 'middle' };

const engine = await load();
let code: ErrorCode | null = null;
try {
  engine.attention(x, list, x, corner);
} catch (error) {
  if (error instanceof TypeError) code = 'invalid_argument';
}
try {
  engine.explain({ example: 'nothing' });
} catch (error) {
  if (error instanceof QkvError) code = error.code;
}
const document = await explain({ q: [x.data], k: [x.data], v: [x.data], bias: [[-Infinity]] });
console.log(JSON.stringify({ numbers: numbers.length, axes, code, kind: document['kind'] }));
