// What a matrix does: where the keyboard is in it, what is previewed, kept and edited.
import { useRef, useState } from 'preact/hooks';
import { movedByKey, type Cell } from '../model/grid_keys';
import { choosePlace, clearLink, isEmpty, isSame, placeOf } from '../model/link';
import { formatNumber } from '../model/number';
import { language } from '../model/view_state';
import { t } from '../messages';
import { announce } from './live_region';
import type { Editor } from './matrix_cell';
import type { MatrixGridProps } from './matrix_grid';

/** The names of rows are column −1, those of columns row −1. */
export function useGrid(props: MatrixGridProps) {
  const { rows, columns = [], values, rowAxis = 'none', columnAxis = 'none', link, edit } = props;
  const [at, setAt] = useState<Cell>({ row: 0, column: 0 });
  const [editing, setEditing] = useState<(Cell & { first: string | null }) | null>(null);
  const table = useRef<HTMLTableElement>(null);
  const width = values[0]?.length ?? 0;
  const cell = { row: Math.min(at.row, values.length - 1), column: Math.min(at.column, width - 1) };
  const heads = { rows: link !== undefined && rowAxis !== 'none', columns: link !== undefined && columnAxis !== 'none' && columns.length > 0 };

  const nameOf = (row: number, column: number) =>
    t.value.shell.cell(props.symbol, rows[row] ?? String(row), columns[column] ?? String(column));
  const preview = (row: number, column: number) => {
    const place = placeOf(rowAxis, columnAxis, row, column);
    if (link) link.hover.value = isEmpty(place) ? null : place;
  };
  const endPreview = () => {
    if (link) link.hover.value = null;
  };
  const arrive = (row: number, column: number) => {
    setAt({ row, column });
    preview(row, column);
    if (row < 0 || column < 0) return; // a name is read as it is
    const text = props.isMasked?.(row, column) ? t.value.shell.masked : formatNumber(values[row]?.[column] ?? NaN, language.value, 4);
    announce(`${nameOf(row, column)} ${text}`);
  };
  const keep = (row: number, column: number, isCompared: boolean) => {
    setAt({ row, column });
    const place = placeOf(rowAxis, columnAxis, row, column);
    if (!link || isEmpty(place)) return;
    choosePlace(link, place, isCompared);
    const isKept = isSame((isCompared ? link.compare : link.pin).peek(), place);
    const names = [rowAxis === 'none' ? undefined : rows[row], columnAxis === 'none' ? undefined : columns[column]];
    announce(t.value.shell.kept(names.filter((name) => name !== undefined).join(' → '), isKept));
  };
  const startEdit = (row: number, column: number, first: string | null) => {
    setAt({ row, column });
    setEditing({ row, column, first });
  };
  const focus = (next: Cell) => {
    setAt(next);
    const row = next.row < 0 ? table.current?.tHead?.rows[0] : table.current?.tBodies[0]?.rows[next.row];
    row?.cells[next.column + 1]?.focus();
  };
  const finish = (key: string) => {
    const where = editing;
    setEditing(null);
    if (where && key !== '') focus(where); // at once: the next key press may be on its way
  };
  const press = (event: KeyboardEvent) => {
    const isCtrl = event.ctrlKey || event.metaKey;
    const isEditable = edit !== undefined && cell.row >= 0 && cell.column >= 0;
    const next = movedByKey(cell, event.key, isCtrl, values.length, width, heads);
    if (next) focus(next);
    else if (event.key === 'Escape' && link) clearLink(link);
    else if (isEditable && (event.key === 'Enter' || event.key === 'F2')) startEdit(cell.row, cell.column, null);
    else if (event.key === 'Enter' || event.key === ' ') keep(cell.row, cell.column, event.shiftKey);
    else if (isEditable && /^[-\d.,−]$/.test(event.key) && !isCtrl) startEdit(cell.row, cell.column, event.key);
    else return;
    event.preventDefault();
  };
  const onCell = (event: Event, act: (row: number, column: number) => void) => {
    const place = placeUnder(event);
    if (place && (place.row >= 0 || heads.columns) && (place.column >= 0 || heads.rows)) act(place.row, place.column);
  };
  return {
    table,
    cell,
    heads,
    press,
    endPreview,
    pointAt: (event: Event) => onCell(event, preview),
    focusIn: (event: Event) => event.target instanceof HTMLTableCellElement && onCell(event, arrive),
    focusOut: (event: FocusEvent) => {
      if (!(event.relatedTarget instanceof Node && table.current?.contains(event.relatedTarget))) endPreview();
    },
    click: (event: MouseEvent) =>
      onCell(event, (row, column) => {
        if (event.target instanceof HTMLInputElement) return;
        if (edit && row >= 0 && column >= 0 && !event.shiftKey) startEdit(row, column, null);
        else keep(row, column, event.shiftKey);
      }),
    editorOf: (row: number, column: number): Editor | null =>
      editing?.row === row && editing.column === column
        ? { first: editing.first, label: nameOf(row, column), change: (value) => edit?.(row, column, value), finish }
        : null,
  };
}

/** The cell or the name in which something happened. */
function placeUnder(event: Event): Cell | null {
  const found = event.target instanceof Element ? event.target.closest('td, th') : null;
  if (!(found instanceof HTMLTableCellElement) || !(found.parentElement instanceof HTMLTableRowElement)) return null;
  const { parentElement: line } = found;
  const place = { row: line.parentElement?.tagName === 'THEAD' ? -1 : line.sectionRowIndex, column: found.cellIndex - 1 };
  return place.row < 0 && place.column < 0 ? null : place;
}
