// Where the keyboard moves in a grid of rows and columns.

export interface Cell {
  readonly row: number;
  readonly column: number;
}

/** Whether the names of rows and of columns can be reached too: they are column and row −1. */
export interface Heads {
  readonly rows: boolean;
  readonly columns: boolean;
}

const NO_HEADS: Heads = { rows: false, columns: false };
const within = (value: number, least: number, most: number) => Math.max(least, Math.min(most, value));

/** The cell after a key, or null if the key does not move. Home and End go along the row, with Ctrl to the corners. */
export function movedByKey(cell: Cell, key: string, isCtrl: boolean, rows: number, columns: number, heads = NO_HEADS): Cell | null {
  const { row, column } = cell;
  const last = { row: rows - 1, column: columns - 1 };
  const top = heads.columns && column >= 0 ? -1 : 0;
  const left = heads.rows && row >= 0 ? -1 : 0;
  switch (key) {
    case 'ArrowLeft':
      return { row, column: within(column - 1, left, last.column) };
    case 'ArrowRight':
      return { row, column: within(column + 1, 0, last.column) };
    case 'ArrowUp':
      return { row: within(row - 1, top, last.row), column };
    case 'ArrowDown':
      return { row: within(row + 1, 0, last.row), column };
    case 'PageUp':
      return { row: within(row - 10, 0, last.row), column };
    case 'PageDown':
      return { row: within(row + 10, 0, last.row), column };
    case 'Home':
      return isCtrl ? { row: 0, column: 0 } : { row, column: 0 };
    case 'End':
      return isCtrl ? last : { row, column: last.column };
    default:
      return null;
  }
}
