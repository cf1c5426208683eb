// Attention and explain on an instance of qkv.wasm.
import { Instance, type Call } from './instance.js';
import type { AttentionOptions, AttentionResult, Engine, ExplainDocument, ExplainRequest, Mask, Tensor } from './types.js';

// JSON has no infinities and no NaN; the library reads them as these texts. Typed arrays are lists.
function written(request: unknown): string {
  return JSON.stringify(request, (_name, value: unknown) => {
    if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
    return ArrayBuffer.isView(value) && !(value instanceof DataView) ? Array.from(value as Float64Array) : value;
  });
}

function put(call: Call, name: string, tensor: Tensor | Mask, kind: typeof Float32Array | typeof Uint8Array) {
  const { data, shape } = tensor ?? {};
  if (!(data instanceof kind)) {
    const found = tensor ? `${name}.data is ${nameOf(data)}` : `${name} is ${String(tensor)}`;
    throw new TypeError(`attention: ${found}; expected {data: ${kind.name}, shape: a list of extents}`);
  }
  return { place: call.put(data), length: data.length, shape };
}

function nameOf(value: unknown): string {
  return Object(value) === value ? ((value as object).constructor?.name ?? 'an object') : String(value);
}

interface Described {
  readonly place: number;
  readonly shape: readonly number[];
}

function taken(call: Call, { place, shape }: Described): Tensor {
  return { data: call.take(place, shape.reduce((product, extent) => product * extent, 1)), shape };
}

function attention(call: Call, q: Tensor, k: Tensor, v: Tensor, options: AttentionOptions): AttentionResult {
  const { keep, key_mask, bias, ...others } = options;
  const request = {
    ...others,
    q: put(call, 'q', q, Float32Array),
    k: put(call, 'k', k, Float32Array),
    v: put(call, 'v', v, Float32Array),
    bias: bias && put(call, 'bias', bias, Float32Array),
    keep: keep && put(call, 'keep', keep, Uint8Array),
    key_mask: key_mask && put(call, 'key_mask', key_mask, Uint8Array),
  };
  const { o, lse } = JSON.parse(call.ask('qkv_attention', written(request))) as { o: Described; lse: Described };
  return { o: taken(call, o), lse: taken(call, lse) };
}

function engineOf(module: WebAssembly.Module): Engine {
  const instance = new Instance(module);
  return {
    attention: (q, k, v, options = {}) => instance.run((call) => attention(call, q, k, v, options)),
    explain: (request) => instance.run((call) => JSON.parse(call.ask('qkv_explain', written(request))) as ExplainDocument),
  };
}

/** What the package exports, on the bytes of qkv.wasm, which are asked for once and when they are needed. */
export function packageOf(bytes: () => Promise<BufferSource>) {
  let loading: Promise<Engine> | null = null;

  /** The engine, whose functions answer at once. */
  async function load(): Promise<Engine> {
    loading ??= bytes().then(WebAssembly.compile).then(engineOf);
    try {
      return await loading;
    } catch (error) {
      loading = null; // the next call tries again
      throw error;
    }
  }

  /** See Engine. */
  async function attention(q: Tensor, k: Tensor, v: Tensor, options?: AttentionOptions): Promise<AttentionResult> {
    return (await load()).attention(q, k, v, options);
  }

  /** See Engine. */
  async function explain(request: ExplainRequest): Promise<ExplainDocument> {
    return (await load()).explain(request);
  }

  return { load, attention, explain };
}
