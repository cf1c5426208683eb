// The state of part 9: the file that the reader brought, and where in it one looks. The file itself stays in the page.
import { batch, computed, effect, signal } from '@preact/signals';
import { choice, flag, integer, optional, real } from '../model/codec';
import type { Document } from '../model/document';
import { createLink } from '../model/link';
import { inEffect, withOptions, type Chosen } from '../model/own_options';
import { problemOfFile, problemOfRequest, type OwnProblem, type OwnSizes } from '../model/own_problem';
import { property } from '../model/state';
import { FileProblem, type Problem } from '../model/tensor_bytes';
import { MOST_BYTES } from '../model/tensor_file';
import { source } from '../source/chosen';
import { stoppable } from '../source/live';

const MOST_INDEX = 1e6;
export const ownBatch = property('own.batch', integer(0, MOST_INDEX), 0);
export const ownHead = property('own.head', integer(0, MOST_INDEX), 0);
export const ownRow = property('own.row', integer(0, MOST_INDEX), 0);
/** The weight with the strongest colour: 1, or the largest of the head, since long rows hold small ones. */
export const ownTop = property('own.top', choice('one', 'largest'), 'one');
/** What is chosen over the file's own options; null: as the file says. */
export const ownOptions = {
  scale: property('own.scale', optional(real()), null),
  softcap: property('own.softcap', optional(real(1e-9)), null),
  causal: property('own.causal', optional(flag), null),
  corner: property('own.corner', optional(choice('top_left', 'bottom_right')), null),
  left: property('own.left', optional(integer(-1, MOST_INDEX)), null),
  right: property('own.right', optional(integer(-1, MOST_INDEX)), null),
};
export const ownLink = createLink();

export interface Refusal {
  readonly problem: Problem;
  readonly values: readonly string[];
}

export const ownFile = signal<OwnProblem | null>(null);
export const ownIsOpened = signal(false); // by `qkv explore FILE`
export const ownRefusal = signal<Refusal | null>(null);
export const ownIsReading = signal(false);

function show(read: () => OwnProblem, isOpened: boolean) {
  try {
    const file = read();
    batch(() => {
      ownFile.value = file;
      ownIsOpened.value = isOpened;
      ownRefusal.value = null;
    });
  } catch (error) {
    if (!(error instanceof FileProblem)) throw error;
    ownRefusal.value = { problem: error.problem, values: error.values };
  }
}

/** Reads a file that was dropped or chosen; the one before stays if this one is refused. */
export async function readOwn(file: File) {
  ownIsReading.value = true;
  try {
    if (file.size > MOST_BYTES) {
      ownRefusal.value = { problem: 'tooLarge', values: [String(MOST_BYTES / 2 ** 20)] };
      return;
    }
    const bytes = new Uint8Array(await file.arrayBuffer());
    show(() => problemOfFile(file.name, bytes), false);
  } finally {
    ownIsReading.value = false;
  }
}

export function closeOwn() {
  ownFile.value = null;
  ownRefusal.value = null;
}

/** Asks for the file of `qkv explore FILE`, once. A page that cannot be reached says so in its other parts. */
export async function readOpened() {
  const opened = await source().opened().catch(() => null);
  if (opened && !ownFile.peek()) show(() => problemOfRequest(opened.name, opened.request), true);
}

const within = (value: number, count: number | undefined) => (count === undefined ? value : Math.min(value, count - 1));

const chosen = computed<Chosen>(() => ({
  scale: ownOptions.scale.value,
  softcap: ownOptions.softcap.value,
  causal: ownOptions.causal.value,
  corner: ownOptions.corner.value,
  left: ownOptions.left.value,
  right: ownOptions.right.value,
}));

const askedOf = new WeakMap<object, OwnProblem>();

export const ownLive = stoppable(() => {
  const file = ownFile.value;
  if (file === null) return null;
  const { sizes } = file;
  const request = withOptions(
    file.request(within(ownBatch.value, sizes?.batches), within(ownHead.value, sizes?.heads)),
    chosen.value,
    sizes === null || sizes.queries === sizes.keys,
  );
  askedOf.set(request, file);
  return request;
});

/** The document of the present file, not of the one before. */
export const ownDocument = computed<Document | null>(() => {
  const { document, request } = ownLive.answer.value;
  const isOfFile = request !== null && typeof request === 'object' && askedOf.get(request) === ownFile.value;
  return isOfFile ? document : null;
});

export const ownSizes = computed<OwnSizes | null>(() => {
  const document = ownDocument.value;
  if (ownFile.value?.sizes) return ownFile.value.sizes;
  if (!document) return null;
  const { Hq = 1, Tq = 1, Tk = 1 } = document.dims;
  return { batches: document.select.batches, heads: Hq, queries: Tq, keys: Tk };
});

/** Where one looks, within the file's sizes. */
export const ownPlace = computed(() => {
  const sizes = ownSizes.value;
  return { batch: within(ownBatch.value, sizes?.batches), head: within(ownHead.value, sizes?.heads), row: within(ownRow.value, sizes?.queries) };
});

export const ownInEffect = computed(() => inEffect(ownFile.value?.fields ?? {}, chosen.value));

// A row that is pinned on the map is the one that is looked at.
effect(() => {
  const row = ownLink.pin.value?.query;
  if (row !== undefined) ownRow.value = row;
});
