// Files out of the page.
import type { Provenance } from '../model/export';
import { fileName, toCsv, toJson, type TableOf } from '../model/export';
import { withText } from '../model/png_text';

/** A matrix or a chart, as it can be saved. */
export interface Subject {
  readonly table: TableOf;
  /** The text of an SVG. */
  readonly picture: (from: Provenance) => string;
}

export const FORMATS = ['SVG', 'PNG', 'CSV', 'JSON'] as const;
export type Format = (typeof FORMATS)[number];

function hand(name: string, content: Blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const PNG_SCALE = 2;

async function toPng(svg: string, from: Provenance): Promise<Uint8Array<ArrayBuffer>> {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = image.naturalWidth * PNG_SCALE;
  canvas.height = image.naturalHeight * PNG_SCALE;
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'));
  if (!blob) throw new Error('no PNG could be made');
  return withText(new Uint8Array(await blob.arrayBuffer()), 'provenance', JSON.stringify(from));
}

async function content({ table, picture }: Subject, from: Provenance, format: Format): Promise<Blob> {
  switch (format) {
    case 'SVG':
      return new Blob([picture(from)], { type: 'image/svg+xml' });
    case 'PNG':
      return new Blob([await toPng(picture(from), from)], { type: 'image/png' });
    case 'CSV':
      return new Blob([toCsv(table, from)], { type: 'text/csv' });
    case 'JSON':
      return new Blob([toJson(table, from)], { type: 'application/json' });
  }
}

/** Saves a subject and gives the name of its file. */
export async function saveAs(subject: Subject, from: Provenance, format: Format): Promise<string> {
  const name = fileName(from.part, subject.table.name, format.toLowerCase());
  hand(name, await content(subject, from, format));
  return name;
}
