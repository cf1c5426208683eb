// Tensor files made for the tests of part 9, and the hand that drops them on the page.
import type { Locator, Page } from '@playwright/test';
import { zipSync } from 'fflate';

export interface Made {
  readonly shape: readonly number[];
  readonly values: readonly number[];
}
export type Tensors = Readonly<Record<string, Made>>;

/** A small problem of two heads with numbers that are easily told apart. */
export function smallProblem(heads = 2, queries = 3, keys = 4, width = 2): Tensors {
  const filled = (count: number, salt: number) => Array.from({ length: count }, (_, at) => Math.sin(salt + 1.7 * at));
  return {
    q: { shape: [heads, queries, width], values: filled(heads * queries * width, 1) },
    k: { shape: [heads, keys, width], values: filled(heads * keys * width, 2) },
    v: { shape: [heads, keys, width], values: filled(heads * keys * width, 3) },
  };
}

/** One head of a tensor as the nested lists of a request. */
export function listsOf({ shape, values }: Made, head: number): number[][] {
  const [, rows = 0, columns = 0] = shape;
  return Array.from({ length: rows }, (_, row) =>
    values.slice((head * rows + row) * columns, (head * rows + row + 1) * columns),
  );
}

const float64 = (values: readonly number[]) => Buffer.from(Float64Array.from(values).buffer);

export function safetensors(tensors: Tensors): Buffer {
  const header: Record<string, unknown> = {};
  let end = 0;
  for (const [name, { shape, values }] of Object.entries(tensors))
    header[name] = { dtype: 'F64', shape, data_offsets: [end, (end += 8 * values.length)] };
  return withHeader(JSON.stringify(header), Buffer.concat(Object.values(tensors).map(({ values }) => float64(values))));
}

export function withHeader(header: string, data: Buffer): Buffer {
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(Buffer.byteLength(header)));
  return Buffer.concat([size, Buffer.from(header), data]);
}

function npy({ shape, values }: Made): Buffer {
  const header = `{'descr': '<f8', 'fortran_order': False, 'shape': (${shape.join(', ')},), }\n`;
  const head = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length % 256, header.length >> 8]);
  return Buffer.concat([head, Buffer.from(header, 'latin1'), float64(values)]);
}

export function npz(tensors: Tensors): Buffer {
  return Buffer.from(zipSync(Object.fromEntries(Object.entries(tensors).map(([name, made]) => [`${name}.npy`, npy(made)]))));
}

/** Lets a file fall on the page's drop zone, as from a folder's window. */
export async function drop(page: Page, where: Locator, name: string, bytes: Buffer) {
  const carried = await page.evaluateHandle(
    ([given, text]) => {
      const transfer = new DataTransfer();
      const content = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      transfer.items.add(new File([content], given));
      return transfer;
    },
    [name, bytes.toString('base64')] as const,
  );
  await where.getByTestId('drop').dispatchEvent('drop', { dataTransfer: carried });
}
