// Colours of numbers: cividis for weights (0 to 1), a diverging scale with its middle at 0 for scores and gradients.
import { interpolateCividis, interpolatePuOr } from 'd3-scale-chromatic';

export type Scale = 'weights' | 'diverging';

/** The colour of a value; `most` is the size that gets the strongest one. */
export function colourOf(value: number, scale: Scale, most: number): string {
  if (!Number.isFinite(value) || most <= 0) return 'transparent';
  const part = Math.max(-1, Math.min(1, value / most));
  return scale === 'weights' ? interpolateCividis(Math.max(0, part)) : interpolatePuOr(0.5 - part * 0.42);
}

/** Black or white, whichever can be read on a colour like "rgb(12, 34, 56)" (WCAG 2.1, relative luminance). */
export function inkOn(colour: string): string {
  const channels = /(\d+)\D+(\d+)\D+(\d+)/.exec(colour)?.slice(1, 4).map(Number) ?? [255, 255, 255];
  const [r = 0, g = 0, b = 0] = channels.map((channel) => {
    const part = channel / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000' : '#fff';
}

/** The largest finite size in a matrix, for a diverging scale. */
export function largestSize(values: readonly (readonly number[])[]): number {
  let most = 0;
  for (const row of values)
    for (const value of row) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
  return most;
}

const STEPS = 255;
const tables = new Map<Scale, Uint8Array>();

/** The colours of a scale from its least to its most, three bytes each: for pictures of many entries. */
export function colourTable(scale: Scale): Uint8Array {
  let table = tables.get(scale);
  if (table === undefined) {
    table = new Uint8Array(3 * (STEPS + 1));
    for (let step = 0; step <= STEPS; ++step) {
      const part = step / STEPS;
      const colour = colourOf(scale === 'weights' ? part : 2 * part - 1, scale, 1);
      (/(\d+)\D+(\d+)\D+(\d+)/.exec(colour)?.slice(1, 4) ?? []).forEach((channel, index) => {
        if (table) table[3 * step + index] = Number(channel);
      });
    }
    tables.set(scale, table);
  }
  return table;
}
