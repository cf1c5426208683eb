// Where the page's numbers come from: the engine's `explain`, text to text, over HTTP or as WebAssembly.

/** A value as JSON has it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json | undefined };

/** What `qkv explore FILE` opened. */
export interface Opened {
  readonly name: string;
  readonly request: { readonly [name: string]: Json | undefined };
}

export interface Source {
  readonly kind: 'http' | 'wasm';
  /** Sends a request of docs/explain.md and gives the document. Rejects with an EngineError, or with the signal's reason. */
  ask(request: Json, signal?: AbortSignal): Promise<Json>;
  /** The file that the engine was started with, or null. */
  opened(): Promise<Opened | null>;
}

/** The engine refused a request, or could not be reached; the message says what to do. */
export class EngineError extends Error {
  override readonly name = 'EngineError';
}
