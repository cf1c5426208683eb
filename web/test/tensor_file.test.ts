// Files that a reader may drop: good ones are read to the last bit, bad ones get a message.
import { zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { ownProblem, problemOfFile, problemOfRequest } from '../src/model/own_problem';
import { FileProblem } from '../src/model/tensor_bytes';
import { MOST_BYTES, readNpy, readSafetensors, readNpz, tensorsOfRequest } from '../src/model/tensor_file';

const bytesOf = (text: string) => new TextEncoder().encode(text);

function safetensors(header: object, data: Uint8Array): Uint8Array {
  const json = bytesOf(JSON.stringify(header));
  const out = new Uint8Array(8 + json.length + data.length);
  new DataView(out.buffer).setBigUint64(0, BigInt(json.length), true);
  out.set(json, 8);
  out.set(data, 8 + json.length);
  return out;
}

function npy(descr: string, shape: string, data: Uint8Array, order = 'False'): Uint8Array {
  const header = bytesOf(`{'descr': '${descr}', 'fortran_order': ${order}, 'shape': ${shape}, }\n`);
  const out = new Uint8Array(10 + header.length + data.length);
  out.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length & 255, header.length >> 8]);
  out.set(header, 10);
  out.set(data, 10 + header.length);
  return out;
}

const doubles = (...values: number[]) => new Uint8Array(Float64Array.from(values).buffer);

function problemOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof FileProblem) return error.problem;
    throw error;
  }
  return 'none';
}

describe('a safetensors file', () => {
  it('is read in each of the four types', () => {
    const cases: readonly [string, Uint8Array][] = [
      ['F64', doubles(1.5, -2)],
      ['F32', new Uint8Array(Float32Array.from([1.5, -2]).buffer)],
      ['F16', new Uint8Array(Uint16Array.from([0x3e00, 0xc000]).buffer)],
      ['BF16', new Uint8Array(Uint16Array.from([0x3fc0, 0xc000]).buffer)],
    ];
    for (const [dtype, data] of cases) {
      const file = readSafetensors(safetensors({ q: { dtype, shape: [1, 2], data_offsets: [0, data.length] } }, data));
      expect([...(file.tensors.get('q')?.values ?? [])], dtype).toEqual([1.5, -2]);
    }
  });
  it('reads the small and the special halves', () => {
    const data = new Uint8Array(Uint16Array.from([1, 0x7c00, 0x7e00]).buffer);
    const file = readSafetensors(safetensors({ q: { dtype: 'F16', shape: [3], data_offsets: [0, 6] } }, data));
    expect([...(file.tensors.get('q')?.values ?? [])]).toEqual([2 ** -24, Infinity, NaN]);
  });
  it('is refused when it is cut, lies about its size, or has a foreign type', () => {
    const entry = (change: object) => ({ q: { dtype: 'F64', shape: [1, 2], data_offsets: [0, 16], ...change } });
    const read = (header: object) => problemOf(() => readSafetensors(safetensors(header, doubles(1, 2))));
    expect(read(entry({}))).toBe('none');
    expect(read(entry({ shape: [1, 3] }))).toBe('cut');
    expect(read(entry({ data_offsets: [0, 99] }))).toBe('offsets');
    expect(read(entry({ dtype: 'I64' }))).toBe('type');
    expect(read(entry({ shape: [-1, 2] }))).toBe('notSafetensors');
    for (const length of [0, 3, 8, 12]) {
      const cut = safetensors(entry({}), doubles(1, 2)).subarray(0, length);
      expect(problemOf(() => readSafetensors(cut)), String(length)).toBe('notSafetensors');
    }
  });
});

describe('an npz file', () => {
  it('is read, and what the page has no use for is passed over', () => {
    const zip = zipSync({ 'q.npy': npy('<f8', '(1, 2)', doubles(3, 4)), 'names.npy': bytesOf('anything') });
    const file = readNpz(zip);
    expect([...file.tensors.keys()]).toEqual(['q']);
    expect([...(file.tensors.get('q')?.values ?? [])]).toEqual([3, 4]);
  });
  it('is refused when an array is in Fortran order, cut, or of a foreign type', () => {
    expect(problemOf(() => readNpy('q', npy('<f8', '(2, 1)', doubles(1, 2), 'True')))).toBe('fortran');
    expect(problemOf(() => readNpy('q', npy('<f8', '(3,)', doubles(1, 2))))).toBe('cut');
    expect(problemOf(() => readNpy('q', npy('>f8', '(2,)', doubles(1, 2))))).toBe('type');
    expect(problemOf(() => readNpy('q', bytesOf('no array at all')))).toBe('notNpy');
    expect(problemOf(() => readNpz(bytesOf('no zip at all')))).toBe('notZip');
  });
});

describe('any file', () => {
  it('never does worse than a FileProblem, wherever it is cut or changed', () => {
    const tensor = { dtype: 'F32', shape: [1, 1], data_offsets: [0, 4] };
    const good: readonly [string, Uint8Array][] = [
      ['a.safetensors', safetensors({ q: tensor }, new Uint8Array(4))],
      ['a.npz', zipSync({ 'q.npy': npy('<f8', '(1, 1)', doubles(3)) })],
      ['a.json', bytesOf('{"q":[[1]],"k":[[1]],"v":[[1]]}')],
    ];
    for (const [name, bytes] of good)
      for (let at = 0; at < bytes.length; ++at) {
        const changed = bytes.slice();
        changed[at] = (changed[at] ?? 0) ^ 0x55;
        for (const broken of [bytes.slice(0, at), changed]) problemOf(() => problemOfFile(name, broken));
      }
  });
  it('is refused when it is huge or of a kind that is not read', () => {
    expect(problemOf(() => problemOfFile('a.json', { length: MOST_BYTES + 1 } as Uint8Array))).toBe('tooLarge');
    expect(problemOf(() => problemOfFile('a.pt', new Uint8Array(4)))).toBe('unknownKind');
  });
});

describe('a problem', () => {
  const ask = (request: object) => ownProblem('a', tensorsOfRequest(request as Record<string, unknown>));
  it('is asked one head at a time, with the keys of its group', () => {
    const problem = ask({ q: [[[1]], [[2]], [[3]], [[4]]], k: [[[5]], [[6]]], v: [[[7]], [[8]]], scale: 2 });
    expect(problem.sizes).toEqual({ batches: 1, heads: 4, queries: 1, keys: 1 });
    expect(problem.request(0, 2)).toEqual({ q: [[3]], k: [[6]], v: [[8]], scale: 2 });
  });
  it('takes its own part of masks and of what is per head', () => {
    const problem = ask({ q: [[[1]], [[2]]], k: [[[5]], [[6]]], v: [[[7]], [[8]]], keep: [[true]], sinks: [0.5, 0.25], bias: [[[1]], [['-Infinity']]] });
    expect(problem.request(0, 1)).toMatchObject({ keep: [[1]], sinks: [0.25], bias: [['-Infinity']] });
  });
  it('is refused when shapes do not fit, are missing or are ragged', () => {
    expect(problemOf(() => ask({ q: [[1]], k: [[1]] }))).toBe('missing');
    expect(problemOf(() => ask({ q: [[1]], k: [[1, 2]], v: [[1]] }))).toBe('fit');
    expect(problemOf(() => ask({ q: [1], k: [[1]], v: [[1]] }))).toBe('rank');
    expect(problemOf(() => ask({ q: [[1], [1, 2]], k: [[1]], v: [[1]] }))).toBe('ragged');
    expect(problemOf(() => ask({ q: [[[1]], [[1]], [[1]]], k: [[[1]], [[1]]], v: [[[1]], [[1]]] }))).toBe('heads');
    expect(problemOf(() => ask({ q: [[1]], k: [[1]], v: [[1]], keep: [[1, 1]] }))).toBe('rank');
  });
  it('is sent whole where it cannot be cut into heads, and then the engine says its sizes', () => {
    const layer = { x: [[1, 2]], wq: [[1], [2]], wk: [[1], [2]], wv: [[1], [2]], heads: 1, backward: true, d_output: [[1]] };
    const problem = problemOfRequest('layer.json', layer);
    expect(problem.sizes).toBeNull();
    expect(problem.request(0, 0)).toEqual({ x: layer.x, wq: layer.wq, wk: layer.wk, wv: layer.wv, heads: 1, batch: 0, head: 0 });
    expect(problemOfRequest('a', { example: 'running' }).request(0, 1)).toEqual({ example: 'running', batch: 0, head: 1 });
    const packed = { q: [[1]], k: [[1]], v: [[1]], key_lengths: [1] };
    expect(problemOfRequest('a', packed).request(0, 0)).toMatchObject(packed);
  });
  it('is cut into heads where it has nothing but q, k, v and what is of one head', () => {
    expect(problemOfRequest('a', { q: [[1]], k: [[1]], v: [[1]], softcap: 5, heads: null }).request(0, 0)).toEqual({ q: [[1]], k: [[1]], v: [[1]], softcap: 5 });
    expect(problemOf(() => problemOfRequest('a', { k: [[1]] }))).toBe('missing');
  });
});
