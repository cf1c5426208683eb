// Where the keyboard moves in a grid of rows and columns.

export interface Cell {
  readonly row: number;
  readonly column: number;
}

/** The cell after a key, or null if the key does not move. Home and End go along the row, with Ctrl to the corners. */
export function movedByKey(cell: Cell, key: string, isCtrl: boolean, rows: number, columns: number): Cell | null {
  const { row, column } = cell;
  const last = { row: rows - 1, column: columns - 1 };
  const within = (value: number, most: number) => Math.max(0, Math.min(most, value));
  switch (key) {
    case 'ArrowLeft':
      return { row, column: within(column - 1, last.column) };
    case 'ArrowRight':
      return { row, column: within(column + 1, last.column) };
    case 'ArrowUp':
      return { row: within(row - 1, last.row), column };
    case 'ArrowDown':
      return { row: within(row + 1, last.row), column };
    case 'PageUp':
      return { row: within(row - 10, last.row), column };
    case 'PageDown':
      return { row: within(row + 10, last.row), column };
    case 'Home':
      return isCtrl ? { row: 0, column: 0 } : { row, column: 0 };
    case 'End':
      return isCtrl ? last : { row, column: last.column };
    default:
      return null;
  }
}
