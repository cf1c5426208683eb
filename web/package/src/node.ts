// The package in Node, whose fetch reads no files.
import { readFile } from 'node:fs/promises';
import { packageOf } from './engine.js';

export { QkvError, type ErrorCode } from './error.js';
export type * from './types.js';

export const { load, attention, explain } = packageOf(async () => {
  return new Uint8Array(await readFile(new URL('./qkv.wasm', import.meta.url)));
});
