// The package in browsers, workers and bundlers.
import { packageOf } from './engine.js';
import { QkvError } from './error.js';

export { QkvError, type ErrorCode } from './error.js';
export type * from './types.js';

async function fetched(): Promise<ArrayBuffer> {
  const place = new URL('./qkv.wasm', import.meta.url); // as bundlers know it
  const response = await fetch(place).catch(() => null);
  if (response?.ok) return response.arrayBuffer(); // not streaming: some hosts serve .wasm without its type
  throw new QkvError('io', `${place.href} could not be loaded (${response?.status ?? 'no answer'})`);
}

export const { load, attention, explain } = packageOf(fetched);
