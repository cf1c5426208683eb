// Runs the engine's WebAssembly beside the page, so that a long computation never holds the page up.

interface Exports {
  readonly memory: WebAssembly.Memory;
  _initialize(): void;
  qkv_alloc(bytes: number): number;
  qkv_free(place: number): void;
  qkv_explain(text: number, length: number): number;
}

/** From the page. */
export interface Question {
  readonly id: number;
  readonly text: string;
}

/** To the page: the document's text, or what was wrong. */
export interface Answer {
  readonly id: number;
  readonly isError: boolean;
  readonly text: string;
}

const HEADER = 8; // bytes of a result before its text: u32 status, u32 length

// The module neither prints nor reads; the C library's start-up code still links to these. 52 = ENOSYS.
const wasi = new Proxy({}, { get: () => () => 52 });

async function fetchModule(): Promise<Response> {
  const advice = 'check the connection and reload the page';
  const place = new URL('./explain.wasm', self.location.href.replace(/assets\/[^/]*$/, ''));
  const response = await fetch(place).catch(() => null);
  if (response === null) throw new Error(`the engine, explain.wasm, could not be loaded; ${advice}`);
  if (!response.ok) throw new Error(`the engine, explain.wasm, could not be loaded (${response.status}); ${advice}`);
  return response;
}

async function load(): Promise<Exports> {
  const response = await fetchModule();
  const bytes = await response.arrayBuffer(); // not streaming: some hosts serve .wasm without its type
  const { instance } = await WebAssembly.instantiate(bytes, { wasi_snapshot_preview1: wasi });
  const exports = instance.exports as unknown as Exports;
  exports._initialize();
  return exports;
}

function explain(engine: Exports, text: string): { isError: boolean; text: string } {
  const bytes = new TextEncoder().encode(text);
  const place = engine.qkv_alloc(bytes.length);
  if (place === 0) return { isError: true, text: 'explain: the request is larger than the memory of the page' };
  new Uint8Array(engine.memory.buffer, place, bytes.length).set(bytes);
  const result = engine.qkv_explain(place, bytes.length);
  engine.qkv_free(place);
  if (result === 0) return { isError: true, text: 'explain: the answer is larger than the memory of the page' };
  const header = new DataView(engine.memory.buffer, result, HEADER);
  const answer = new Uint8Array(engine.memory.buffer, result + HEADER, header.getUint32(4, true));
  const decoded = { isError: header.getUint32(0, true) !== 0, text: new TextDecoder().decode(answer) };
  engine.qkv_free(result);
  return decoded;
}

const engine = load();

self.addEventListener('message', async (event: MessageEvent<Question>) => {
  const { id, text } = event.data;
  let answer: { isError: boolean; text: string };
  try {
    answer = explain(await engine, text);
  } catch (error) {
    answer = { isError: true, text: error instanceof Error ? error.message : String(error) };
  }
  self.postMessage({ id, ...answer } satisfies Answer);
});
