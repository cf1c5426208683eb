// Answers requests by a WebAssembly module: node ask_wasm.mjs MODULE < list of requests, gives a list of [status, text].
import { readFileSync } from 'node:fs';

const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), {});
const { memory, qkv_alloc, qkv_free, qkv_explain } = instance.exports;

function ask(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const place = qkv_alloc(bytes.length);
  new Uint8Array(memory.buffer, place, bytes.length).set(bytes);
  const reply = qkv_explain(place, bytes.length);
  qkv_free(place);
  const [status, length] = new Uint32Array(memory.buffer, reply, 2);
  const text = new TextDecoder().decode(new Uint8Array(memory.buffer, reply + 8, length));
  qkv_free(reply);
  return [status, text];
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(ask)));
