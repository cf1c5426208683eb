// A small matrix with its numbers: a table that is one stop for the Tab key, linked with the others of its part.
import { useRef, useState } from 'preact/hooks';
import { movedByKey, type Cell } from '../model/grid_keys';
import { choosePlace, clearLink, isOn, placeOf, type Axis, type Link } from '../model/link';
import { largestSize, type Scale } from '../model/colour';
import { formatNumber } from '../model/number';
import { language } from '../model/view_state';
import { t } from '../messages';
import { announce } from './live_region';
import { MatrixCell } from './matrix_cell';

export interface MatrixGridProps {
  /** The letter that stands on it, "Q"; and what it is, for those who do not see it. */
  readonly symbol: string;
  readonly label: string;
  /** The letters of its shape, ["T","D"]; the numbers are counted. */
  readonly dims?: readonly string[];
  readonly rows: readonly string[];
  readonly columns?: readonly string[];
  readonly values: readonly (readonly number[])[];
  readonly rowAxis?: Axis;
  readonly columnAxis?: Axis;
  readonly link?: Link;
  readonly decimals?: number;
  readonly scale?: Scale;
  /** The size of the strongest colour; the largest in it unless given. */
  readonly most?: number;
  readonly isMasked?: (row: number, column: number) => boolean;
  readonly edit?: (row: number, column: number, value: number) => void;
  readonly identity?: 'q' | 'k' | 'v';
  /** Rows that are lit whatever is pointed at. */
  readonly litRow?: number | null;
}

export function MatrixGrid(props: MatrixGridProps) {
  const { rows, columns = [], values, rowAxis = 'none', columnAxis = 'none', link, decimals = 2, edit } = props;
  const [at, setAt] = useState<Cell>({ row: 0, column: 0 });
  const [editing, setEditing] = useState<(Cell & { first: string | null }) | null>(null);
  const table = useRef<HTMLTableElement>(null);
  const width = values[0]?.length ?? 0;
  const cell = { row: Math.min(at.row, values.length - 1), column: Math.min(at.column, width - 1) };
  const most = props.most ?? (props.scale === 'weights' ? 1 : largestSize(values));

  const nameOf = (row: number, column: number) =>
    t.value.shell.cell(props.symbol, rows[row] ?? String(row), columns[column] ?? String(column));
  const say = (row: number, column: number) => {
    const value = values[row]?.[column] ?? NaN;
    const text = props.isMasked?.(row, column) ? t.value.shell.masked : formatNumber(value, language.value, 4);
    announce(`${nameOf(row, column)} ${text}`);
  };
  const preview = (row: number, column: number) => {
    if (link) link.hover.value = placeOf(rowAxis, columnAxis, row, column);
  };
  const endPreview = () => {
    if (link) link.hover.value = null;
  };
  const focus = (next: Cell) => {
    setAt(next);
    const target = table.current?.tBodies[0]?.rows[next.row]?.cells[next.column + 1];
    target?.focus();
  };
  const finish = (key: string) => {
    const where = editing;
    setEditing(null);
    if (where && key !== '') focus(where); // at once: the next key press may be on its way
  };
  const press = (event: KeyboardEvent) => {
    const next = movedByKey(cell, event.key, event.ctrlKey || event.metaKey, values.length, width);
    if (next) focus(next);
    else if (event.key === 'Escape' && link) clearLink(link);
    else if (event.key === 'Enter' || event.key === 'F2' || event.key === ' ') {
      if (edit) setEditing({ ...cell, first: null });
      else if (link) choosePlace(link, placeOf(rowAxis, columnAxis, cell.row, cell.column), event.shiftKey);
    } else if (edit && /^[-\d.,−]$/.test(event.key) && !event.ctrlKey && !event.metaKey) {
      setEditing({ ...cell, first: event.key });
    } else return;
    event.preventDefault();
  };

  const lit = (row: number): boolean =>
    props.litRow === row || isOn(link?.hover.value ?? link?.pin.value ?? null, rowAxis, row);
  const shape = `${props.dims?.length === 2 ? `${props.dims.join('×')} = ` : ''}${values.length}×${width}`;
  return (
    <table
      ref={table}
      class={`grid ${props.identity ? `is-${props.identity}` : ''} ${edit ? 'is-editable' : ''}`}
      role="grid"
      aria-label={`${props.symbol}: ${props.label}, ${shape}${edit ? `. ${t.value.shell.editHint}` : ''}`}
      onKeyDown={press}
      onPointerLeave={endPreview}
      onFocusOut={(event) => {
        if (!(event.relatedTarget instanceof Node && table.current?.contains(event.relatedTarget))) endPreview();
      }}
    >
      <caption>
        <span class="grid-symbol">{props.symbol}</span> <span class="grid-shape">{shape}</span>
      </caption>
      {columns.length > 0 && (
        <thead>
          <tr>
            <td role="presentation" />
            {columns.map((name, column) => (
              <th key={column} scope="col" class={isOn(link?.hover.value ?? link?.pin.value ?? null, columnAxis, column) ? 'is-lit' : ''}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
      )}
      <tbody>
        {values.map((entries, row) => (
          <tr key={row} class={lit(row) ? 'is-lit' : ''}>
            <th scope="row">{rows[row]}</th>
            {entries.map((value, column) => (
              <MatrixCell
                key={column}
                value={value}
                text={formatNumber(value, language.value, decimals)}
                label={nameOf(row, column)}
                scale={props.scale}
                most={most}
                isMasked={props.isMasked?.(row, column) ?? false}
                isStop={row === cell.row && column === cell.column}
                isLit={isOn(link?.hover.value ?? link?.pin.value ?? null, columnAxis, column)}
                isPinned={columnAxis !== 'none' && isOn(link?.pin.value ?? null, columnAxis, column) && isOn(link?.pin.value ?? null, rowAxis, row)}
                isCompared={isOn(link?.compare.value ?? null, rowAxis, row) && (columnAxis === 'none' || isOn(link?.compare.value ?? null, columnAxis, column))}
                editing={editing?.row === row && editing.column === column ? editing : null}
                enter={() => preview(row, column)}
                focus={() => {
                  setAt({ row, column });
                  preview(row, column);
                  say(row, column);
                }}
                choose={(isCompared) => {
                  setAt({ row, column });
                  if (edit && !isCompared) setEditing({ row, column, first: null });
                  else if (link) choosePlace(link, placeOf(rowAxis, columnAxis, row, column), isCompared);
                }}
                change={(next) => edit?.(row, column, next)}
                finish={finish}
              />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
