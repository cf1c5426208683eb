// Reads .safetensors, .npz and .json in the page: headers are checked before a number is believed.
import { unzipSync } from 'fflate';
import { FileProblem, isExtent, tensorOf, type Tensor } from './tensor_bytes';

export const MOST_BYTES = 64 * 2 ** 20;

export interface TensorFile {
  readonly tensors: ReadonlyMap<string, Tensor>;
  /** What is no tensor: tokens, scale, causal ... */
  readonly fields: Readonly<Record<string, unknown>>;
}

const text = (bytes: Uint8Array) => new TextDecoder('utf-8', { fatal: true }).decode(bytes);
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parsed(written: () => string, problem: 'notJson' | 'notSafetensors'): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(written());
  } catch {
    throw new FileProblem(problem);
  }
  if (!isRecord(value)) throw new FileProblem(problem);
  return value;
}

/** What the page has a use for; other tensors of a file are passed over, whatever their type. */
const NAMES = new Set(['q', 'k', 'v', 'keep', 'key_mask', 'bias', 'slopes', 'sinks']);

export function readSafetensors(bytes: Uint8Array): TensorFile {
  if (bytes.length < 8) throw new FileProblem('notSafetensors');
  const size = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  if (size < 2 || size > bytes.length - 8) throw new FileProblem('notSafetensors');
  const header = parsed(() => text(bytes.subarray(8, 8 + size)), 'notSafetensors');
  const data = bytes.subarray(8 + size);
  const tensors = new Map<string, Tensor>();
  for (const [name, entry] of Object.entries(header)) {
    if (!NAMES.has(name)) continue;
    const { dtype, shape, data_offsets: offsets } = isRecord(entry) ? entry : {};
    if (typeof dtype !== 'string' || !Array.isArray(shape) || !shape.every(isExtent)) throw new FileProblem('notSafetensors');
    const [from, to] = Array.isArray(offsets) ? (offsets as unknown[]) : [];
    if (!isExtent(from) || !isExtent(to) || from > to || to > data.length) throw new FileProblem('offsets', name);
    tensors.set(name, tensorOf(name, dtype, shape, data.subarray(from, to)));
  }
  const metadata = header['__metadata__'];
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(isRecord(metadata) ? metadata : {})) {
    if (typeof value !== 'string' || !/^(key_)?tokens$/.test(name)) continue;
    fields[name] = parsed(() => `{"list":${value}}`, 'notSafetensors')['list'];
  }
  return { tensors, fields };
}

const NPY_TYPES: Readonly<Record<string, string>> = {
  '<f8': 'F64', '<f4': 'F32', '<f2': 'F16', '|b1': 'BOOL', '|u1': 'U8',
};

export function readNpy(name: string, bytes: Uint8Array): Tensor {
  const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
  if (bytes.length < 10 || magic.some((byte, index) => bytes[index] !== byte)) throw new FileProblem('notNpy', name);
  const version = bytes[6] ?? 0;
  if (version < 1 || version > 3) throw new FileProblem('npyVersion', name, version);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = version === 1 ? 10 : 12;
  if (bytes.length < start) throw new FileProblem('notNpy', name);
  const length = version === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  if (start + length > bytes.length) throw new FileProblem('notNpy', name);
  const header = new TextDecoder('latin1').decode(bytes.subarray(start, start + length));
  const type = /'descr':\s*'([^']*)'/.exec(header)?.[1];
  const order = /'fortran_order':\s*(True|False)/.exec(header)?.[1];
  const extents = /'shape':\s*\(([\d,\s]*)\)/.exec(header)?.[1];
  if (type === undefined || order === undefined || extents === undefined) throw new FileProblem('notNpy', name);
  const shape = extents.split(',').map((one) => one.trim()).filter((one) => one !== '').map(Number);
  if (!shape.every(isExtent)) throw new FileProblem('notNpy', name);
  // A vector lies the same in both orders.
  if (order === 'True' && shape.length > 1) throw new FileProblem('fortran', name);
  return tensorOf(name, NPY_TYPES[type] ?? type, shape, bytes.subarray(start + length));
}

export function readNpz(bytes: Uint8Array): TensorFile {
  let entries: Record<string, Uint8Array>;
  let total = 0;
  try {
    entries = unzipSync(bytes, {
      filter: ({ name, originalSize }) => {
        if (!NAMES.has(name.replace(/\.npy$/, ''))) return false;
        total += originalSize;
        if (total > MOST_BYTES) throw new FileProblem('tooLarge', MOST_BYTES / 2 ** 20);
        return true;
      },
    });
  } catch (error) {
    throw error instanceof FileProblem ? error : new FileProblem('notZip');
  }
  const tensors = new Map<string, Tensor>();
  for (const [entry, content] of Object.entries(entries)) {
    const name = entry.replace(/\.npy$/, '');
    tensors.set(name, readNpy(name, content));
  }
  return { tensors, fields: {} };
}

const SPOKEN: Readonly<Record<string, number>> = { Infinity, '-Infinity': -Infinity, NaN };

/** Nested lists as a tensor; every list of a level has the same length. */
export function tensorOfLists(name: string, lists: unknown): Tensor {
  const shape: number[] = [];
  for (let level = lists; Array.isArray(level); level = (level as unknown[])[0]) shape.push(level.length);
  const values: number[] = [];
  const visit = (value: unknown, depth: number) => {
    if (depth < shape.length) {
      if (!Array.isArray(value) || value.length !== shape[depth]) throw new FileProblem('ragged', name);
      value.forEach((one) => visit(one, depth + 1));
      return;
    }
    const number = typeof value === 'boolean' ? Number(value) : typeof value === 'string' ? SPOKEN[value] : value;
    if (typeof number !== 'number') throw new FileProblem('ragged', name);
    values.push(number);
  };
  visit(lists, 0);
  return { shape, values: Float64Array.from(values) };
}

export function tensorsOfRequest(request: Readonly<Record<string, unknown>>): TensorFile {
  const tensors = new Map<string, Tensor>();
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(request)) {
    if (NAMES.has(name) && value !== null) tensors.set(name, tensorOfLists(name, value));
    else if (['tokens', 'key_tokens', 'scale', 'softcap', 'causal', 'corner', 'window'].includes(name)) fields[name] = value;
  }
  return { tensors, fields };
}

export function readJson(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  return parsed(() => text(bytes), 'notJson');
}
