// The page's state: a table of named properties. What differs from its default stands in the address, so that a copied
// link shows the same view; changes can be undone.
import { batch, computed, effect, signal, type Signal } from '@preact/signals';
import type { Codec } from './codec';

interface Entry {
  readonly name: string;
  read(): string | null; // null: the default
  write(text: string | null): void;
  readonly isUndoable: boolean;
}

const entries = new Map<string, Entry>();

export interface PropertyOptions {
  /** False for where one looks (language, theme): undo leaves it alone. */
  readonly isUndoable?: boolean;
}

/** Adds a property to the table, with the value that the address gives it. Names are unique: "bank.q". */
export function property<T>(name: string, codec: Codec<T>, initial: T, options: PropertyOptions = {}): Signal<T> {
  if (entries.has(name)) throw new Error(`state: two properties are called ${name}`);
  const initialText = codec.encode(initial);
  const value = signal(initial);
  const entry: Entry = {
    name,
    isUndoable: options.isUndoable ?? true,
    read: () => {
      const text = codec.encode(value.value);
      return text === initialText ? null : text;
    },
    write: (text) => {
      if (text !== null && codec.encode(value.peek()) === text) return;
      const decoded = text === null ? initial : codec.decode(text);
      value.value = decoded ?? initial;
    },
  };
  entries.set(name, entry);
  const given = fieldsOf(location.hash).get(name);
  if (given !== undefined) entry.write(given);
  return value;
}

function fieldsOf(hash: string): Map<string, string> {
  return new Map(new URLSearchParams(hash.replace(/^#/, '')));
}

function written(onlyUndoable: boolean): string {
  const fields = new URLSearchParams();
  for (const entry of entries.values()) {
    const text = entry.isUndoable || !onlyUndoable ? entry.read() : null;
    if (text !== null) fields.set(entry.name, text);
  }
  return fields.toString();
}

function restore(snapshot: string, onlyUndoable: boolean) {
  const fields = fieldsOf(snapshot);
  batch(() => {
    for (const entry of entries.values())
      if (entry.isUndoable || !onlyUndoable) entry.write(fields.get(entry.name) ?? null);
  });
}

// Undo. A snapshot is the text of the undoable properties; one is kept when the state has rested for a moment, so that
// a drag of a slider is one step.
const REST = 400; // ms
const MOST_STEPS = 200;
const past = signal<readonly string[]>([]);
const future = signal<readonly string[]>([]);
const isMoving = signal(false); // the state has changed since the last snapshot
let settled = '';
let timer: ReturnType<typeof setTimeout> | undefined;

function settle() {
  clearTimeout(timer);
  isMoving.value = false;
  const now = written(true);
  if (now === settled) return;
  past.value = [...past.peek(), settled].slice(-MOST_STEPS);
  future.value = [];
  settled = now;
}

export const canUndo = computed(() => isMoving.value || past.value.length > 0);
export const canRedo = computed(() => !isMoving.value && future.value.length > 0);

function step(from: Signal<readonly string[]>, to: Signal<readonly string[]>) {
  settle();
  const target = from.peek().at(-1);
  if (target === undefined) return;
  from.value = from.peek().slice(0, -1);
  to.value = [...to.peek(), settled];
  settled = target;
  restore(target, true);
}

export const undo = () => step(past, future);
export const redo = () => step(future, past);

/** Gives the properties whose names begin with `prefix` their defaults; all of them without one. Can be undone. */
export function reset(prefix = '') {
  settle();
  batch(() => {
    for (const entry of entries.values()) if (entry.isUndoable && entry.name.startsWith(prefix)) entry.write(null);
  });
  settle();
}

/** Keeps the address and the state together. Call once, when every property is declared. */
export function followAddress() {
  settled = written(true);
  effect(() => {
    const text = written(false);
    isMoving.value = written(true) !== settled;
    clearTimeout(timer);
    timer = setTimeout(() => {
      settle();
      if (new URLSearchParams(location.hash.replace(/^#/, '')).toString() !== text) history.replaceState(null, '', text === '' ? '#' : `#${text}`);
    }, REST);
  });
  addEventListener('hashchange', () => restore(location.hash, false));
}

/** The page's address as it is now, without waiting for the state to rest. */
export function addressNow(): string {
  const text = written(false);
  return location.href.replace(/#.*$/, '') + (text === '' ? '' : `#${text}`);
}
