// What is asked of the engine for one head of a file: the head's slices, and nothing of the others. What cannot be cut
// into heads (a layer, packed sequences, an example by its name) is sent whole.
import type { Json } from '../source/source';
import { FileProblem, type Tensor } from './tensor_bytes';
import { MOST_BYTES, readJson, readNpz, readSafetensors, tensorsOfRequest, type TensorFile } from './tensor_file';

/** Weights that one head may have: a picture and a document of more are of no use here. */
export const MOST_PAIRS = 1_000_000;

export interface OwnSizes {
  readonly batches: number;
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
}

export interface OwnProblem {
  readonly name: string;
  /** Null for what is sent whole, a layer for one: the engine's document says them. */
  readonly sizes: OwnSizes | null;
  /** The options that the file itself sets: causal, window ... */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly request: (batch: number, head: number) => Readonly<Record<string, Json>>;
}

const written = (value: number): number | string => (Number.isFinite(value) ? value : String(value));

/** The matrix at an index of each leading axis; an axis of 1 serves every index. */
function slice({ shape, values }: Tensor, leading: readonly number[]): Json {
  const [rows = 1, columns = 1] = shape.slice(-2);
  const axes = shape.slice(0, -2);
  const at = leading.slice(leading.length - axes.length);
  let block = 0;
  axes.forEach((extent, axis) => (block = block * extent + (extent === 1 ? 0 : (at[axis] ?? 0))));
  const start = block * rows * columns;
  return Array.from({ length: rows }, (_, row) =>
    Array.from(values.subarray(start + row * columns, start + (row + 1) * columns), written),
  );
}

const said = (shape: readonly number[]) => `[${shape.join(', ')}]`;
const extents = ({ shape }: Tensor) => [...Array<number>(4 - shape.length).fill(1), ...shape] as [number, number, number, number];

function needed(file: TensorFile, name: string): Tensor {
  const tensor = file.tensors.get(name);
  if (!tensor) throw new FileProblem('missing', name);
  const { shape } = tensor;
  if (shape.length < 2 || shape.length > 4 || shape.includes(0)) throw new FileProblem('rank', name, said(shape));
  return tensor;
}

/** Checks that the shapes fit and gives what can be asked. Throws a FileProblem. */
export function ownProblem(name: string, file: TensorFile): OwnProblem {
  const [q, k, v] = [needed(file, 'q'), needed(file, 'k'), needed(file, 'v')];
  const [[batches, heads, queries, width], [kBatches, kHeads, keys, kWidth], [vBatches, vHeads, vKeys]] = [extents(q), extents(k), extents(v)];
  const shapes = [said(q.shape), said(k.shape), said(v.shape)];
  if (width !== kWidth || keys !== vKeys || kHeads !== vHeads || batches !== kBatches || batches !== vBatches)
    throw new FileProblem('fit', ...shapes);
  if (heads % kHeads !== 0) throw new FileProblem('heads', heads, kHeads);
  if (queries * keys > MOST_PAIRS) throw new FileProblem('pairs', queries, keys, MOST_PAIRS);
  for (const mask of ['keep', 'bias']) {
    const tensor = file.tensors.get(mask);
    if (!tensor) continue;
    const given = tensor.shape.length <= 4 && tensor.shape.length >= 2 ? extents(tensor) : [0];
    const fits = given.every((extent, axis) => extent === 1 || extent === [batches, heads, queries, keys][axis]);
    if (!fits) throw new FileProblem('rank', mask, said(tensor.shape));
  }
  const group = heads / kHeads;
  const request = (batch: number, head: number): Record<string, Json> => {
    const out: Record<string, Json> = { ...(file.fields as Record<string, Json>) };
    out['q'] = slice(q, [batch, head]);
    out['k'] = slice(k, [batch, Math.floor(head / group)]);
    out['v'] = slice(v, [batch, Math.floor(head / group)]);
    for (const mask of ['keep', 'bias']) {
      const tensor = file.tensors.get(mask);
      if (tensor) out[mask] = slice(tensor, [batch, head]);
    }
    const keyMask = file.tensors.get('key_mask');
    if (keyMask) {
      const rows = slice({ shape: keyMask.shape.length === 1 ? [1, ...keyMask.shape] : keyMask.shape, values: keyMask.values }, []);
      out['key_mask'] = [(rows as readonly Json[])[keyMask.shape.length === 1 ? 0 : batch] ?? []];
    }
    for (const perHead of ['slopes', 'sinks']) {
      const value = file.tensors.get(perHead)?.values[head];
      if (value !== undefined) out[perHead] = [value];
    }
    return out;
  };
  return { name, sizes: { batches, heads, queries, keys }, fields: file.fields, request };
}

/** Fields of a request that can be cut into heads; those of the backward pass are not looked at here. */
const CUT = new Set([
  'q', 'k', 'v', 'keep', 'key_mask', 'bias', 'slopes', 'sinks', 'tokens', 'key_tokens', 'value_axes', 'scale', 'softcap', 'causal',
  'corner', 'window', 'source', 'row', 'head', 'batch',
]);
const BACKWARD = new Set(['backward', 'd_output', 'step', 'steps']);

/** A request of docs/explain.md as a problem. Throws a FileProblem; what is sent whole is checked by the engine. */
export function problemOfRequest(name: string, given: Readonly<Record<string, unknown>>): OwnProblem {
  const request = Object.fromEntries(Object.entries(given).filter(([field, value]) => value !== null && !BACKWARD.has(field)));
  const fields = Object.keys(request);
  const isWhole = fields.some((field) => !CUT.has(field)) && (fields.includes('x') || fields.includes('q') || fields.includes('example'));
  if (!isWhole) return ownProblem(name, tensorsOfRequest(request));
  const whole = request as Record<string, Json>;
  return { name, sizes: null, fields: request, request: (batch, head) => ({ ...whole, batch, head }) };
}

/** What a file holds, by the ending of its name. Throws a FileProblem. */
export function problemOfFile(name: string, bytes: Uint8Array): OwnProblem {
  if (bytes.length > MOST_BYTES) throw new FileProblem('tooLarge', MOST_BYTES / 2 ** 20);
  const kind = name.toLowerCase().split('.').at(-1);
  if (kind === 'safetensors') return ownProblem(name, readSafetensors(bytes));
  if (kind === 'npz') return ownProblem(name, readNpz(bytes));
  if (kind === 'json') return problemOfRequest(name, readJson(bytes));
  throw new FileProblem('unknownKind', name);
}
