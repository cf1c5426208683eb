// The state of part 9: the file that the reader brought, and where in it one looks. The file itself stays in the page.
import { batch, computed, effect, signal } from '@preact/signals';
import { flag, integer } from '../model/codec';
import { createLink } from '../model/link';
import { ownProblem, type OwnProblem } from '../model/own_problem';
import { property } from '../model/state';
import { FileProblem, type Problem } from '../model/tensor_bytes';
import { MOST_BYTES, readTensorFile, tensorsOfRequest } from '../model/tensor_file';
import { source } from '../source/chosen';
import { live } from '../source/live';

const MOST_INDEX = 1e6;
export const ownBatch = property('own.batch', integer(0, MOST_INDEX), 0);
export const ownHead = property('own.head', integer(0, MOST_INDEX), 0);
export const ownRow = property('own.row', integer(0, MOST_INDEX), 0);
export const ownCausal = property('own.causal', flag, false);
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
    show(() => ownProblem(file.name, readTensorFile(file.name, bytes)), false);
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
  if (opened && !ownFile.peek()) show(() => ownProblem(opened.name, tensorsOfRequest(opened.request)), true);
}

const within = (value: number, count: number) => Math.min(value, count - 1);

/** Where one looks, within the file's sizes. */
export const ownPlace = computed(() => {
  const file = ownFile.value;
  return {
    batch: file ? within(ownBatch.value, file.batches) : 0,
    head: file ? within(ownHead.value, file.heads) : 0,
    row: file ? within(ownRow.value, file.queries) : 0,
  };
});

const head = computed(() => {
  const file = ownFile.value;
  return file ? file.request(ownPlace.value.batch, ownPlace.value.head) : null;
});

export const ownLive = live(() => {
  const request = head.value;
  if (request === null || typeof request !== 'object') return null;
  return ownCausal.value ? { ...request, causal: ownFile.value?.queries === ownFile.value?.keys ? true : 'bottom_right' } : request;
});

// A row that is pinned on the map is the one that is looked at.
effect(() => {
  const row = ownLink.pin.value?.query;
  if (row !== undefined) ownRow.value = row;
});
