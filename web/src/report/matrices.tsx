// The numbers of a problem that fails: what came, what is right, the difference, and the weights behind it.
import { useMemo } from 'preact/hooks';
import { axesOf, isCut, lookOf, namesOf, numbersOf, placeOfWorst, type CutMatrix, type FailingMatrices } from '../model/check_report';
import type { Scale } from '../model/colour';
import { createLink, placeOf, type Link } from '../model/link';
import { r } from '../messages/report';
import { MatrixGrid } from '../views/matrix_grid';
import { OriginOf } from '../views/provenance';
import { value } from './numbers';

interface ShownProps {
  readonly matrix: CutMatrix;
  readonly tensor: string; // whose axes it has
  readonly symbol: string;
  readonly label: string;
  readonly link: Link;
  readonly scale: Scale;
  readonly most?: number;
  readonly decimals: number;
}

const nameOf = (tensor: string, index: readonly number[]) => (index.length === 0 ? tensor : `${tensor}[${index.join(', ')}]`);

function Shown({ matrix, tensor, symbol, label, link, scale, most, decimals }: ShownProps) {
  const values = numbersOf(matrix);
  const axes = axesOf(tensor);
  const columns = axes.columns === 'none' && matrix.of[1] === 1 ? [] : namesOf(axes.columns, matrix.first[1], values[0]?.length ?? 0);
  // A weight is exactly 0 where the query may not see the key.
  const isHidden = (row: number, column: number) => values[row]?.[column] === 0;
  return (
    <MatrixGrid symbol={symbol} label={label} note={label} rows={namesOf(axes.rows, matrix.first[0], values.length)} columns={columns}
      values={values} rowAxis={axes.rows} columnAxis={axes.columns} link={link} scale={scale} decimals={decimals}
      {...(most === undefined ? {} : { most })} {...(tensor === 'weights' ? { isMasked: isHidden } : {})} />
  );
}

function Cut({ matrix }: { matrix: CutMatrix }) {
  const text = r.value;
  const { first, of, values } = matrix;
  const range = (axis: 0 | 1, count: number) => text.range(first[axis], first[axis] + count - 1, of[axis]);
  return <p class="quiet-text">{text.cut(range(0, values.length), range(1, values[0]?.length ?? 0))}</p>;
}

/** `qkv` is the version that made them. */
export function Matrices({ all, qkv }: { all: FailingMatrices; qkv: string }) {
  const text = r.value;
  const { tensor, got, want, error, weights, weights_got } = all;
  const worst = placeOfWorst(all);
  const link = useMemo(() => {
    const axes = axesOf(tensor);
    const made = createLink();
    made.pin.value = placeOf(axes.rows, axes.columns, worst.row, worst.column);
    return made;
  }, [all]);
  const { most, off, decimals, decimalsOff } = lookOf(all);
  const at = (matrix: CutMatrix, row: number, column: number) => value(matrix.values[row]?.[column] ?? 'NaN');
  const name = nameOf(tensor, got.at);
  const of = { tensor, link, scale: 'diverging', most, decimals } as const;
  const ofWeights = { tensor: 'weights', link, scale: 'weights', decimals: 3 } as const;
  return (
    <OriginOf.Provider value={{ part: 'check', document: { qkv, problem: all.problem } }}>
      <p>
        {text.worstAt(nameOf(tensor, all.worst), at(got, worst.row, worst.column), at(want, worst.row, worst.column))}
      </p>
      {isCut(got) && <Cut matrix={got} />}
      <div class="matrices is-close">
        <Shown {...of} matrix={got} symbol={text.gotShort} label={`${name}, ${text.got}`} />
        <Shown {...of} matrix={want} symbol={text.wantShort} label={`${name}, ${text.want}`} />
        <Shown {...of} matrix={error} most={off} decimals={decimalsOff} symbol="Δ" label={`${name}, ${text.difference}`} />
      </div>
      <div class="matrices is-close">
        {weights_got && (
          <Shown {...ofWeights} matrix={weights_got} symbol={`A ${text.gotShort}`} label={`${nameOf('A', weights_got.at)}, ${text.weightsGot}`} />
        )}
        {weights && <Shown {...ofWeights} matrix={weights} symbol={`A ${text.wantShort}`} label={`${nameOf('A', weights.at)}, ${text.weights}`} />}
      </div>
      {weights && isCut(weights) && <Cut matrix={weights} />}
    </OriginOf.Provider>
  );
}
