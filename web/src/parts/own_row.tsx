// Part 9, one row: the keys that it reads most, and its chain from scores to output.
import { matrix, rowOf, type Document } from '../model/document';
import { formatNumber } from '../model/number';
import { language } from '../model/view_state';
import { t } from '../messages';
import { MatrixGrid } from '../views/matrix_grid';

const SHOWN = 12; // numbers of a row that are written out
const STAGES = ['raw', 'scaled', 'masked', 'p', 'o'] as const;

interface RowProps {
  readonly document: Document;
  readonly row: number;
  readonly queries: readonly string[];
  readonly keys: readonly string[];
}

export function Reads({ document, row, queries, keys }: RowProps) {
  const text = t.value.own;
  const reading = document.reading[row];
  const number = (value: number) => formatNumber(value, language.value, 4);
  return (
    <section class="reads">
      <h3>{text.reads(queries[row] ?? '')}</h3>
      <table data-testid="own-reads">
        <thead>
          <tr>
            <th scope="col">{text.key}</th>
            <th scope="col">{text.weight}</th>
            <th scope="col">{text.sum}</th>
          </tr>
        </thead>
        <tbody>
          {(reading?.keys ?? []).map((key, place) => (
            <tr key={key}>
              <th scope="row">{keys[key]}</th>
              <td>{number(reading?.weights[place] ?? NaN)}</td>
              <td>{number(reading?.cumulative[place] ?? NaN)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function Chain({ document, row, queries, keys }: RowProps) {
  const text = t.value.own;
  return (
    <section class="own-chain">
      <h3>{text.chain}</h3>
      {STAGES.map((name) => {
        const found = matrix(document, name);
        const values = rowOf(found, row);
        if (!found || values.length === 0) return null;
        const note = values.length > SHOWN ? `, ${text.first(String(SHOWN), String(values.length))}` : '';
        return (
          <div key={name} class="scrolled">
            <MatrixGrid symbol={found.symbol} label={`${text.stages[name]}${note}`} rows={[queries[row] ?? '']}
              {...(name === 'o' ? {} : { columns: keys.slice(0, SHOWN) })} values={[values.slice(0, SHOWN)]} decimals={3}
              scale={name === 'p' ? 'weights' : 'diverging'} isMasked={(_, column) => values[column] === -Infinity} />
            <p class="quiet-text">
              {text.stages[name]}
              {note}
            </p>
          </div>
        );
      })}
    </section>
  );
}
