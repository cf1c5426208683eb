// A large matrix as a picture to save: one block of colour for each entry, names along two sides, and the scale.
import { colourTable } from './colour';
import type { Provenance, TableOf } from './export';
import { escaped, HAIRLINE, HATCHING, INK, QUIET, svgFile, textAt } from './svg_text';
import { scalePicture, widthOf, type Look } from './table_picture';

/** Four bytes for each entry; masked ones are transparent, so that the hatching behind them shows. */
export function pixelsOf({ values }: TableOf, { scale = 'weights', most, isMasked }: Look): Uint8ClampedArray {
  const columns = values[0]?.length ?? 0;
  const pixels = new Uint8ClampedArray(4 * values.length * columns);
  const colours = colourTable(scale);
  const last = colours.length / 3 - 1;
  values.forEach((row, i) =>
    row.forEach((value, j) => {
      if (typeof value === 'string' || !Number.isFinite(value) || isMasked?.(i, j)) return;
      const part = most > 0 ? Math.max(-1, Math.min(1, value / most)) : 0;
      const at = 3 * Math.round((scale === 'weights' ? Math.max(0, part) : (part + 1) / 2) * last);
      pixels.set([...colours.subarray(at, at + 3), 255], 4 * (i * columns + j));
    }),
  );
  return pixels;
}

const SIDE = 640; // of the map
const LEAST = 9; // of a name's height
const ROOM = 18; // from one name to the next, where not all of them fit

/** The first of 1, 2, 5, 10, 20, 50 ... that is not below `least`. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5, 10].find((step) => step * power >= least) ?? 10);
}


/** `image` is the address of a picture with a pixel for each entry. */
export function mapPicture(table: TableOf, from: Provenance, look: Look, image: string): string {
  const [rows, columns] = [table.values.length, table.values[0]?.length ?? 0];
  const block = Math.max(1, Math.min(18, SIDE / Math.max(rows, columns)));
  const every = block >= LEAST ? 1 : niceStep(ROOM / block);
  const [width, height] = [columns * block, rows * block];
  const left = widthOf(table.rows) + 24;
  const top = widthOf(table.columns) + 44;
  const size = Math.min(12, Math.max(LEAST, block)) - 1;
  const names = (all: readonly string[]) => all.flatMap((name, at) => (at % every === 0 ? [{ name, middle: (at + 0.5) * block }] : []));
  const parts = [
    `<defs>${HATCHING}</defs>`,
    textAt(12, 22, 'start', INK, table.name),
    `<g font-size="${size}">`,
    ...names(table.rows).map(({ name, middle }) => textAt(left - 6, top + middle + size / 3, 'end', QUIET, name)),
    ...names(table.columns).map(
      ({ name, middle }) => `<g transform="translate(${left + middle + size / 3} ${top - 6}) rotate(-90)">${textAt(0, 0, 'start', QUIET, name)}</g>`,
    ),
    '</g>',
    `<rect x="${left}" y="${top}" width="${width}" height="${height}" fill="url(#masked)" stroke="${HAIRLINE}"/>`,
    `<image x="${left}" y="${top}" width="${width}" height="${height}" preserveAspectRatio="none" image-rendering="pixelated" ` +
      `style="image-rendering:pixelated" href="${escaped(image)}"/>`,
    scalePicture(left, top + height + 16, look.scale ?? 'weights', look.most, look.text),
  ];
  return svgFile(left + Math.max(width, 144) + 16, top + height + 56, table.name, from, parts);
}
