// One WebAssembly module of apps/wasm, called text to text.
import { codeOf, QkvError } from './error.js';

/** What a module exports. Places are addresses in its memory; 0 is none. */
interface Exports {
  readonly memory: WebAssembly.Memory;
  _initialize(): void;
  qkv_alloc(bytes: number): number;
  qkv_free(place: number): void;
  qkv_explain(text: number, length: number): number;
  qkv_attention(text: number, length: number): number; // of qkv.wasm only
}

const HEADER = 8; // bytes of a reply before its text: u32 status, u32 length

/** The memory of a module during one call; what was taken is given back when the call ends. */
export class Call {
  private readonly places: number[] = [];
  constructor(private readonly exports: Exports) {}

  /** Puts bytes into the module's memory. */
  put(bytes: ArrayBufferView): number {
    const place = this.exports.qkv_alloc(bytes.byteLength + 1) >>> 0; // + 1: so that nothing at all has a place, too
    if (place === 0) throw new QkvError('out_of_memory', `there is no memory for an input of ${bytes.byteLength} bytes`);
    this.places.push(place);
    const source = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    new Uint8Array(this.exports.memory.buffer, place, bytes.byteLength).set(source);
    return place;
  }

  /** A copy of numbers that a call left in the memory for the caller. */
  take(place: number, numbers: number): Float32Array {
    this.places.push(place);
    return new Float32Array(this.exports.memory.buffer, place, numbers).slice();
  }

  /** Calls an exported function with a text and gives its answer. Throws QkvError. */
  ask(name: 'qkv_explain' | 'qkv_attention', text: string): string {
    const bytes = new TextEncoder().encode(text);
    const reply = this.exports[name](this.put(bytes), bytes.length) >>> 0;
    if (reply === 0) throw new QkvError('out_of_memory', 'there is no memory for the answer');
    this.places.push(reply);
    const header = new DataView(this.exports.memory.buffer, reply, HEADER);
    const body = new Uint8Array(this.exports.memory.buffer, reply + HEADER, header.getUint32(4, true));
    const answer = new TextDecoder().decode(body);
    const code = codeOf(header.getUint32(0, true));
    if (code !== 'ok') throw new QkvError(code, answer);
    return answer;
  }

  end(): void {
    for (const place of this.places) this.exports.qkv_free(place);
  }
}

// What a call throws while the module is well: its answer, or that it was given something else than it takes.
const isRefusal = (error: unknown) => error instanceof QkvError || error instanceof TypeError;

/** Runs calls in an instance of a module, and in a new one after a call that broke off. */
export class Instance {
  private exports: Exports | null = null;
  constructor(private readonly module: WebAssembly.Module) {}

  /** Throws QkvError, with the code `stopped` where the module broke off. */
  run<T>(work: (call: Call) => T): T {
    try {
      const call = new Call((this.exports ??= this.started()));
      try {
        const result = work(call);
        call.end();
        return result;
      } catch (error) {
        if (isRefusal(error)) call.end();
        throw error;
      }
    } catch (error) {
      if (isRefusal(error)) throw error;
      this.exports = null; // a trap leaves its memory in an unknown state, so nothing of it is used again
      const reason = error instanceof Error ? error.message : String(error);
      throw new QkvError('stopped', `the engine stopped (${reason}), most likely for want of memory; it is started anew`);
    }
  }

  private started(): Exports {
    const exports = new WebAssembly.Instance(this.module).exports as unknown as Exports;
    exports._initialize();
    return exports;
  }
}
