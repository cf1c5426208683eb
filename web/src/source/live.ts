// A document that follows the state of the page: asked for again whenever what it depends on changes.
import { effect, signal, type ReadonlySignal } from '@preact/signals';
import type { Document } from '../model/document';
import { source } from './chosen';
import type { Json } from './source';

export interface Live {
  /** The last good document; null before the first. It stays while the next one is computed, and after an error. */
  readonly document: Document | null;
  /** What the engine said against the present request, or null. */
  readonly error: string | null;
}

const NOTHING: Live = { document: null, error: null };

/**
 * Calls `request` now and whenever a signal that it reads changes, and sends what it returns (null: nothing is asked).
 * One question is under way at a time; of those that come meanwhile only the newest is asked afterwards. A part's
 * documents live as long as the page, so there is nothing to dispose of.
 */
export function live(request: () => Json): ReadonlySignal<Live> {
  const state = signal<Live>(NOTHING);
  let next: Json = null;
  let isAsking = false;

  const ask = async () => {
    if (isAsking) return;
    isAsking = true;
    while (next !== null) {
      const asked = next;
      next = null;
      try {
        const document = (await source().ask(asked)) as unknown as Document;
        state.value = { document, error: null };
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        state.value = { document: state.peek().document, error: message };
      }
    }
    isAsking = false;
  };

  effect(() => {
    next = request();
    if (next !== null) void ask(); // the signal stays as it is until the answer: its part is drawn once an edit
  });
  return state;
}
