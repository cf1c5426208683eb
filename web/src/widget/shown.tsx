// A matrix of the panel: with its numbers while they can be read, as a picture beyond.
import { largestSize, type Scale } from '../model/colour';
import type { Matrix } from '../model/document';
import type { Axis, Link } from '../model/link';
import { formatNumber } from '../model/number';
import { language } from '../model/view_state';
import { t } from '../messages';
import { w } from '../messages/widget';
import { ColourBar } from '../views/colour_bar';
import { MatrixGrid } from '../views/matrix_grid';
import { MatrixMap } from '../views/matrix_map';
import { SaveMap } from '../views/save_map';

const MOST_WITH_NUMBERS = 16; // rows, and columns

export const isSmall = (found: Matrix) => Math.max(found.values.length, found.values[0]?.length ?? 0) <= MOST_WITH_NUMBERS;

export interface ShownProps {
  readonly found: Matrix;
  readonly label: string;
  readonly rows: readonly string[];
  /** Names of the columns where they are keys; the axis is then 'key'. */
  readonly columns?: readonly string[];
  readonly rowAxis: Axis;
  readonly link: Link;
  readonly scale: Scale;
  readonly identity?: 'q' | 'k' | 'v';
  readonly isMasked?: (row: number, column: number) => boolean;
}

/** What an entry of a picture is, in words. */
export function sentenceOf({ found, rows, columns }: ShownProps, row: number, column: number): string {
  const where = t.value.shell.cell(found.symbol, rows[row] ?? String(row), columns?.[column] ?? String(column));
  return w.value.entry(where, formatNumber(found.values[row]?.[column] ?? NaN, language.value, 4));
}

function Picture(props: ShownProps) {
  const { found, label, rows, columns, rowAxis, link, scale, isMasked } = props;
  const most = scale === 'weights' ? 1 : largestSize(found.values);
  const title = `${found.symbol}: ${label}`;
  const names = columns ?? Array.from({ length: found.values[0]?.length ?? 0 }, (_, column) => String(column));
  return (
    <section class="whole-map widget-map">
      <h3>
        <span class="grid-symbol">{found.symbol}</span> {label} <span class="grid-shape">{found.values.length}×{names.length}</span>
      </h3>
      <MatrixMap label={title} values={found.values} scale={scale} most={most} link={link} rowAxis={rowAxis}
        columnAxis={columns ? 'key' : 'feature'} sentence={(row, column) => sentenceOf(props, row, column)} {...(isMasked ? { isMasked } : {})} />
      <div class="map-foot">
        <ColourBar scale={scale} most={most} label={found.symbol} hasMasked={isMasked !== undefined} />
        <SaveMap name={found.symbol} rows={rows} columns={names} values={found.values} scale={scale} most={most} {...(isMasked ? { isMasked } : {})} />
      </div>
    </section>
  );
}

export function Shown(props: ShownProps) {
  const { found, label, rows, columns, rowAxis, link, scale, identity, isMasked } = props;
  if (!isSmall(found)) return <Picture {...props} />;
  return (
    <MatrixGrid symbol={found.symbol} label={label} note={label} dims={found.dims} rows={rows} values={found.values} rowAxis={rowAxis} link={link}
      decimals={scale === 'weights' ? 3 : 2} {...(columns ? { columns, columnAxis: 'key', scale } : {})}
      {...(identity ? { identity } : {})} {...(isMasked ? { isMasked } : {})} />
  );
}
