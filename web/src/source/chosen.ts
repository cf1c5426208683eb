// The page's one source, chosen when it was built.
import { httpSource } from './http';
import type { Source } from './source';
import { wasmSource } from './wasm';

let chosen: Source | null = null;

export function source(): Source {
  chosen ??= __SOURCE__ === 'wasm' ? wasmSource() : httpSource();
  return chosen;
}
