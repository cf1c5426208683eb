// A document that follows the state of the page: asked for again whenever what it depends on changes.
import { effect, signal, type ReadonlySignal } from '@preact/signals';
import type { Document } from '../model/document';
import { source } from './chosen';
import type { Json } from './source';

export interface Live {
  /** The last good document; null before the first. It stays while the next one is computed, and after an error. */
  readonly document: Document | null;
  /** The request that it answers. */
  readonly request: Json;
  /** What the engine said against the present request, or null. */
  readonly error: string | null;
}

const NOTHING: Live = { document: null, request: null, error: null };

/** Of a question that may take long. */
export interface Stoppable {
  readonly answer: ReadonlySignal<Live>;
  /** Whether it takes so long that the reader should be told, or was given up. */
  readonly progress: ReadonlySignal<'none' | 'slow' | 'stopped'>;
  /** Gives up the question that is under way; what it would change stays as it is. */
  stop(): void;
  /** Asks once more what was given up. */
  resume(): void;
}

const SLOW = 400; // ms

/**
 * Calls `request` now and whenever a signal that it reads changes, and sends what it returns (null: nothing is asked).
 * One question is under way at a time; of those that come meanwhile only the newest is asked afterwards. A part's
 * documents live as long as the page, so there is nothing to dispose of.
 */
export function stoppable(request: () => Json): Stoppable {
  const answer = signal<Live>(NOTHING);
  const progress = signal<'none' | 'slow' | 'stopped'>('none');
  let next: Json = null;
  let asked: Json = null;
  let current: AbortController | null = null;

  const send = async (question: Json, { signal }: AbortController) => {
    const slow = setTimeout(() => (progress.value = 'slow'), SLOW);
    try {
      const document = (await source().ask(question, signal)) as unknown as Document;
      answer.value = { document, request: question, error: null };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (!signal.aborted) answer.value = { ...answer.peek(), error: message };
    } finally {
      clearTimeout(slow);
    }
  };

  const ask = async () => {
    if (current) return;
    while (next !== null) {
      [asked, next] = [next, null];
      current = new AbortController();
      await send(asked, current);
    }
    progress.value = current?.signal.aborted ? 'stopped' : 'none';
    current = null;
  };

  effect(() => {
    next = request();
    if (next !== null) void ask(); // the signal stays as it is until the answer: its part is drawn once an edit
  });
  return {
    answer,
    progress,
    stop() {
      next = null;
      current?.abort();
    },
    resume() {
      next = asked;
      void ask();
    },
  };
}

export function live(request: () => Json): ReadonlySignal<Live> {
  return stoppable(request).answer;
}
