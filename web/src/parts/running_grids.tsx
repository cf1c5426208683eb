// Part 5, its matrices: each of one head or of both, with the tokens as names.
import type { ComponentChildren } from 'preact';
import { matrix, type Document, type Matrix } from '../model/document';
import type { Axis } from '../model/link';
import { t } from '../messages';
import { MatrixGrid } from '../views/matrix_grid';
import { runningCausal, runningHead, runningLink, runningRow, runningTokens } from './running_state';

/** Means and spreads come as one row; shown as a column, they stand beside the rows that they belong to. */
export function asColumn(found: Matrix | undefined): Matrix | undefined {
  return found && { ...found, values: (found.values[0] ?? []).map((value) => [value]) };
}

interface GridProps {
  readonly found: Matrix | undefined;
  readonly label: string;
  readonly rowAxis?: Axis;
  readonly columnAxis?: Axis;
  readonly identity?: 'q' | 'k' | 'v';
  readonly scale?: 'weights' | 'diverging';
}

export function Grid({ found, label, rowAxis = 'query', columnAxis = 'none', identity, scale }: GridProps) {
  if (!found) return null;
  const columns = columnAxis === 'key' ? runningTokens : [];
  return (
    <MatrixGrid
      symbol={found.symbol}
      label={label}
      rows={runningTokens}
      columns={columns}
      values={found.values}
      rowAxis={rowAxis}
      columnAxis={columnAxis}
      link={runningLink}
      litRow={rowAxis === 'query' ? runningRow.value : null}
      decimals={columnAxis === 'key' && scale === 'weights' ? 3 : 2}
      isMasked={(row, column) => columnAxis === 'key' && runningCausal.value && found.values[row]?.[column] === (scale === 'weights' ? 0 : -Infinity)}
      {...(identity ? { identity } : {})}
      {...(scale ? { scale } : {})}
    />
  );
}

export function Matrices({ children }: { children: ComponentChildren }) {
  return <div class="matrices is-close">{children}</div>;
}

const HEADS = 2;
const SUBSCRIPTS = ['₁', '₂'];

/** A stage of each head that is shown; when both are, their letters bear the head's number. */
export function ofHeads(document: Document, name: string): readonly (Matrix | undefined)[] {
  const chosen = runningHead.value;
  if (chosen !== 'merged') return [matrix(document, name, Number(chosen))];
  return Array.from({ length: HEADS }, (_, head) => {
    const found = matrix(document, name, head);
    return found && { ...found, symbol: found.symbol + (SUBSCRIPTS[head] ?? '') };
  });
}

export function Projections({ document }: { document: Document }) {
  const text = t.value.running;
  const [queries, keys, values] = ['q', 'k', 'v'].map((name) => ofHeads(document, name));
  return (queries ?? []).map((query, head) => (
    <Matrices key={head}>
      <Grid found={query} label={text.query} identity="q" />
      <Grid found={keys?.[head]} label={text.keys} identity="k" rowAxis="key" />
      <Grid found={values?.[head]} label={text.values} identity="v" rowAxis="key" />
    </Matrices>
  ));
}

export function Pairs({ document, name, label, scale }: { document: Document; name: string; label: string; scale: 'weights' | 'diverging' }) {
  return (
    <Matrices>
      {ofHeads(document, name).map((found, head) => (
        <Grid key={head} found={found} label={label} columnAxis="key" scale={scale} />
      ))}
    </Matrices>
  );
}
