// A matrix as a picture to save: its numbers on their colours, masked entries hatched, clipped ones marked, and the scale.
import { colourOf, inkOn, type Scale } from './colour';
import type { Entry, Provenance, TableOf } from './export';
import { HAIRLINE, HATCHING, INK, QUIET, svgFile, textAt } from './svg_text';

export interface Look {
  readonly scale?: Scale;
  /** The size of the strongest colour. */
  readonly most: number;
  readonly isMasked?: (row: number, column: number) => boolean;
  /** Entries that are marked; those beyond the strongest colour unless given. */
  readonly isClipped?: (value: number) => boolean;
  readonly text: (value: Entry) => string;
}

const CELL_HEIGHT = 30;
const LETTER = 7.6; // the width of a letter, nearly

export const widthOf = (texts: readonly string[]) => Math.max(0, ...texts.map((text) => text.length)) * LETTER;

/** The colours from the least to the most, with their numbers below. */
export function scalePicture(x: number, y: number, scale: Scale, most: number, text: (value: number) => string): string {
  const least = scale === 'weights' ? 0 : -most;
  const stops = Array.from({ length: 17 }, (_, step) => {
    const colour = colourOf(least + ((most - least) * step) / 16, scale, most);
    return `<stop offset="${step / 16}" stop-color="${colour}"/>`;
  });
  return (
    `<defs><linearGradient id="scale">${stops.join('')}</linearGradient></defs>` +
    `<rect x="${x}" y="${y}" width="144" height="8" fill="url(#scale)"/>` +
    textAt(x, y + 22, 'start', QUIET, text(least)) +
    textAt(x + 144, y + 22, 'end', QUIET, text(most))
  );
}

function cell(x: number, y: number, width: number, value: Entry, isMasked: boolean, { scale, most, text, isClipped = (one) => Math.abs(one) > most }: Look): string {
  const box = `x="${x}" y="${y}" width="${width - 2}" height="${CELL_HEIGHT - 2}"`;
  if (isMasked) return `<rect ${box} fill="url(#masked)" stroke="${HAIRLINE}"/>`;
  const colour = scale && typeof value === 'number' ? colourOf(value, scale, most) : 'transparent';
  const fill = colour === 'transparent' ? '#fff' : colour;
  const mark = scale && typeof value === 'number' && Number.isFinite(value) && isClipped(value) ? '▸' : '';
  const [anchor, at] = typeof value === 'string' ? (['start', x + 8] as const) : (['middle', x + width / 2 - 1] as const);
  return (
    `<rect ${box} fill="${fill}"${colour === 'transparent' ? ` stroke="${HAIRLINE}"` : ''}/>` +
    textAt(at, y + 19, anchor, inkOn(fill), text(value) + mark)
  );
}

/** The picture of a table with an entry in each cell. */
export function tablePicture(table: TableOf, from: Provenance, look: Look): string {
  const columns = table.values[0]?.length ?? 0;
  const top = table.columns.length > 0 ? 54 : 36;
  const left = Math.max(40, widthOf(table.rows) + 24);
  const widths = Array.from({ length: columns }, (_, j) =>
    Math.max(56, 20 + widthOf([table.columns[j] ?? '', ...table.values.map((row) => look.text(row[j] ?? ''))])),
  );
  const starts = widths.map((_, j) => left + widths.slice(0, j).reduce((sum, width) => sum + width, 0));
  const right = left + widths.reduce((sum, width) => sum + width, 0);
  const parts = [`<defs>${HATCHING}</defs>`, textAt(12, 22, 'start', INK, table.name)];
  widths.forEach((width, j) => parts.push(textAt((starts[j] ?? 0) + width / 2 - 1, top - 8, 'middle', QUIET, table.columns[j] ?? '')));
  table.values.forEach((row, i) => {
    const y = top + i * CELL_HEIGHT;
    parts.push(textAt(left - 10, y + 19, 'end', QUIET, table.rows[i] ?? ''));
    row.forEach((value, j) => parts.push(cell(starts[j] ?? 0, y, widths[j] ?? 0, value, look.isMasked?.(i, j) ?? false, look)));
  });
  const bottom = top + table.values.length * CELL_HEIGHT;
  if (look.scale) parts.push(scalePicture(left, bottom + 12, look.scale, look.most, look.text));
  return svgFile(Math.max(right, look.scale ? left + 144 : 0) + 16, bottom + (look.scale ? 52 : 16), table.name, from, parts);
}
