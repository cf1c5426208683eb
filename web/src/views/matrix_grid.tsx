// A small matrix with its numbers: a table that is one stop for the Tab key, linked with the others of its part.
import { isOn, type Axis, type Link } from '../model/link';
import { largestSize, type Scale } from '../model/colour';
import { formatNumber } from '../model/number';
import { language } from '../model/view_state';
import { t } from '../messages';
import { GridFigure } from './grid_figure';
import { GridHead } from './grid_head';
import { MatrixCell } from './matrix_cell';
import { useGrid } from './use_grid';

export interface MatrixGridProps {
  /** The letter that stands on it, "Q"; and what it is, for those who do not see it. */
  readonly symbol: string;
  readonly label: string;
  /** What it is, where the letter does not say enough to the eye. */
  readonly note?: string;
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
  /** Entries that large are marked; beyond the strongest colour unless given. */
  readonly clip?: number;
  readonly edit?: (row: number, column: number, value: number) => void;
  readonly identity?: 'q' | 'k' | 'v';
  /** Rows that are lit whatever is pointed at. */
  readonly litRow?: number | null;
}

export function MatrixGrid(props: MatrixGridProps) {
  const { rows, columns = [], values, rowAxis = 'none', columnAxis = 'none', link, decimals = 2, edit } = props;
  const grid = useGrid(props);
  const most = props.most ?? (props.scale === 'weights' ? 1 : largestSize(values));
  const isClipped = (value: number) =>
    props.scale !== undefined && Number.isFinite(value) && most > 0 && (props.clip === undefined ? Math.abs(value) > most : Math.abs(value) >= props.clip);
  const shown = link?.hover.value ?? link?.pin.value ?? null;
  const pinned = link?.pin.value ?? null;
  const compared = link?.compare.value ?? null;
  const isStop = (row: number, column: number) => row === grid.cell.row && column === grid.cell.column;
  const shape = `${props.dims?.length === 2 ? `${props.dims.join('×')} = ` : ''}${values.length}×${values[0]?.length ?? 0}`;
  const hint = edit ? `. ${t.value.shell.editHint}` : '';
  return (
    <GridFigure symbol={props.symbol} label={props.label} note={props.note} shape={shape} rows={rows} columns={columns} values={values}
      scale={props.scale} most={most} decimals={decimals} identity={props.identity} isMasked={props.isMasked} isClipped={isClipped}>
      <table
        ref={grid.table}
        class={`grid ${props.identity ? `is-${props.identity}` : ''} ${edit ? 'is-editable' : ''}`}
        role="grid"
        aria-label={`${props.symbol}: ${props.label}, ${shape}${hint}`}
        onKeyDown={grid.press}
        onClick={grid.click}
        onPointerOver={grid.pointAt}
        onPointerLeave={grid.endPreview}
        onFocusIn={grid.focusIn}
        onFocusOut={grid.focusOut}
      >
        {columns.length > 0 && (
          <thead>
            <tr>
              <td role="presentation" />
              {columns.map((name, column) => (
                <GridHead key={column} text={name} scope="col" isLit={isOn(shown, columnAxis, column)}
                  isPinned={isOn(pinned, columnAxis, column)} isLinked={grid.heads.columns} isStop={isStop(-1, column)} />
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {values.map((entries, row) => (
            <tr key={row} class={props.litRow === row || isOn(shown, rowAxis, row) ? 'is-lit' : ''}>
              <GridHead text={rows[row] ?? ''} scope="row" isPinned={isOn(pinned, rowAxis, row)} isLinked={grid.heads.rows}
                isStop={isStop(row, -1)} />
              {entries.map((value, column) => (
                <MatrixCell
                  key={column}
                  value={value}
                  text={formatNumber(value, language.value, decimals)}
                  scale={props.scale}
                  most={most}
                  isMasked={props.isMasked?.(row, column) ?? false}
                  isClipped={isClipped(value)}
                  isStop={isStop(row, column)}
                  isLit={isOn(shown, columnAxis, column)}
                  isPinned={columnAxis !== 'none' && isOn(pinned, columnAxis, column) && isOn(pinned, rowAxis, row)}
                  isCompared={isOn(compared, rowAxis, row) && (columnAxis === 'none' || isOn(compared, columnAxis, column))}
                  editor={grid.editorOf(row, column)}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </GridFigure>
  );
}
