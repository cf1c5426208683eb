// Saves a matrix that stands on the screen as a map: with its numbers while they can be read, as blocks of colour beyond.
import { formatNumber } from '../model/number';
import { mapPicture, pixelsOf } from '../model/map_picture';
import { tablePicture, type Look } from '../model/table_picture';
import { language } from '../model/view_state';
import type { Provenance, TableOf } from '../model/export';
import type { Scale } from '../model/colour';
import { SaveButton } from './save_menu';

interface SaveMapProps {
  readonly name: string;
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly values: readonly (readonly number[])[];
  readonly scale: Scale;
  readonly most: number;
  readonly isMasked?: (row: number, column: number) => boolean;
}

const MOST_WITH_NUMBERS = 16; // rows, and columns

/** The address of a picture with a pixel for each entry. */
function pixels(table: TableOf, look: Look): string {
  const canvas = document.createElement('canvas');
  [canvas.height, canvas.width] = [table.values.length, table.values[0]?.length ?? 0];
  const picture = new ImageData(canvas.width, canvas.height);
  picture.data.set(pixelsOf(table, look));
  canvas.getContext('2d')?.putImageData(picture, 0, 0);
  return canvas.toDataURL('image/png');
}

export function SaveMap({ name, rows, columns, values, scale, most, isMasked }: SaveMapProps) {
  const subject = () => {
    const table = { name, rows, columns, values };
    const look: Look = {
      scale,
      most,
      text: (value) => (typeof value === 'string' ? value : formatNumber(value, language.peek(), 2)),
      ...(isMasked ? { isMasked } : {}),
    };
    const isSmall = Math.max(values.length, values[0]?.length ?? 0) <= MOST_WITH_NUMBERS;
    return {
      table,
      picture: (from: Provenance) =>
        isSmall ? tablePicture(table, from, look) : mapPicture(table, from, look, pixels(table, look)),
    };
  };
  return <SaveButton name={name} subject={subject} />;
}
