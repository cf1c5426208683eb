// The engine as WebAssembly in a worker: nothing leaves the page.
import { EngineError, type Json, type Source } from './source';
import type { Answer, Question } from './wasm_worker';

interface Waiting {
  resolve(document: Json): void;
  reject(error: unknown): void;
}

export function wasmSource(): Source {
  const worker = new Worker(new URL('./wasm_worker.ts', import.meta.url), { type: 'module' });
  const waiting = new Map<number, Waiting>();
  let asked = 0;

  worker.addEventListener('message', (event: MessageEvent<Answer>) => {
    const { id, isError, text } = event.data;
    const asker = waiting.get(id);
    waiting.delete(id);
    if (isError) asker?.reject(new EngineError(text));
    else asker?.resolve(JSON.parse(text) as Json);
  });
  worker.addEventListener('error', () => {
    for (const asker of waiting.values()) asker.reject(new EngineError('the engine could not be loaded; reload the page'));
    waiting.clear();
  });

  return {
    kind: 'wasm',
    ask(request, signal) {
      return new Promise((resolve, reject) => {
        const id = ++asked;
        waiting.set(id, { resolve, reject });
        signal?.addEventListener('abort', () => {
          if (waiting.delete(id)) reject(signal.reason);
        });
        worker.postMessage({ id, text: JSON.stringify(request) } satisfies Question);
      });
    },
    opened: () => Promise.resolve(null),
  };
}
