// What the notebook's kernel says and is told: the traits of apps/python/qkv/_panel.py.
import { computed, signal, type ReadonlySignal } from '@preact/signals';
import type { Document } from '../model/document';

/** What anywidget gives a view of the object in the kernel. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, call: () => void): void;
  off(event: string, call: () => void): void;
}

/** Of one batch entry and head: the engine's document, or what it says against them. */
export interface Answer {
  readonly batch: number;
  readonly head: number;
  readonly document?: Document;
  readonly error?: string;
}

export type Axis = 'batch' | 'head';

export interface Asked {
  readonly answer: ReadonlySignal<Answer>;
  /** Where the reader wants to look, which the answer follows. */
  readonly place: ReadonlySignal<Readonly<Record<Axis, number>>>;
  readonly counts: Readonly<Record<Axis, number>>;
  readonly isWaiting: ReadonlySignal<boolean>;
  ask(axis: Axis, index: number): void;
  /** Lets go of the model. */
  end(): void;
}

const numberOf = (model: Model, name: string) => Number(model.get(name));
const read = (model: Model) => JSON.parse(String(model.get('answer'))) as Answer;
const placeOf = (model: Model) => ({ batch: numberOf(model, 'batch'), head: numberOf(model, 'head') });

/** Follows a model, of which there may be several views. */
export function follow(model: Model): Asked {
  const answer = signal(read(model));
  const place = signal(placeOf(model));
  const answered = () => (answer.value = read(model));
  const moved = () => (place.value = placeOf(model));
  const heard = { 'change:answer': answered, 'change:batch': moved, 'change:head': moved };
  for (const [event, call] of Object.entries(heard)) model.on(event, call);
  return {
    answer,
    place,
    counts: { batch: numberOf(model, 'batches'), head: numberOf(model, 'heads') },
    isWaiting: computed(() => answer.value.batch !== place.value.batch || answer.value.head !== place.value.head),
    ask(axis, index) {
      model.set(axis, index);
      model.save_changes();
    },
    end() {
      for (const [event, call] of Object.entries(heard)) model.off(event, call);
    },
  };
}
