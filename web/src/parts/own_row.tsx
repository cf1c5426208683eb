// Part 9, one row: the keys that it reads most, what they hold, and its chain from query to output.
import { matrix, rowOf, type Document } from '../model/document';
import { formatNumber } from '../model/number';
import { tablePicture } from '../model/table_picture';
import { language } from '../model/view_state';
import { t } from '../messages';
import { MatrixGrid } from '../views/matrix_grid';
import type { Subject } from '../views/save';
import { SaveButton } from '../views/save_menu';

const SHOWN = 12; // numbers of a row that are written out
const READ = 6; // keys of which K and V are shown
const NEAR_CAP = 0.99; // of the softcap: scores beyond are marked
const STAGES = ['q', 'raw', 'scaled', 'capped', 'biased', 'masked', 'p', 'o'] as const;

interface RowProps {
  readonly document: Document;
  readonly row: number;
  readonly queries: readonly string[];
  readonly keys: readonly string[];
}

const number = (value: number | undefined) => formatNumber(value ?? NaN, language.value, 4);

export function Reads({ document, row, queries, keys }: RowProps) {
  const text = t.value.own;
  const { keys: read = [], weights = [], cumulative = [] } = document.reading[row] ?? {};
  const title = text.reads(queries[row] ?? '');
  const subject = (): Subject => {
    const values = read.map((_, place) => [weights[place] ?? NaN, cumulative[place] ?? NaN]);
    const table = { name: title, rows: read.map((key) => keys[key] ?? ''), columns: [text.weight, text.sum], values };
    return { table, picture: (from) => tablePicture(table, from, { most: 0, text: (value) => number(Number(value)) }) };
  };
  return (
    <section class="reads">
      <h3>
        {title} <SaveButton name={title} subject={subject} />
      </h3>
      <table data-testid="own-reads">
        <thead>
          <tr>
            <th scope="col">{text.key}</th>
            <th scope="col">{text.weight}</th>
            <th scope="col">{text.sum}</th>
          </tr>
        </thead>
        <tbody>
          {read.map((key, place) => (
            <tr key={key}>
              <th scope="row">{keys[key]}</th>
              <td>{number(weights[place])}</td>
              <td>{number(cumulative[place])}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** K and V of the keys with the largest weights: of the head that this query head reads, where heads are grouped. */
export function ReadKeys({ document, row, keys }: RowProps) {
  const text = t.value.own;
  const read = (document.reading[row]?.keys ?? []).slice(0, READ);
  const all = (['k', 'v'] as const).map((name) => ({ name, values: matrix(document, name)?.values ?? [] }));
  return (
    <section class="own-chain">
      <h3>{text.readKeys}</h3>
      <div class="matrices">
        {all.map(({ name, values }) => (
          <MatrixGrid key={name} symbol={name.toUpperCase()} label={name === 'k' ? text.keyRows : text.valueRows} rows={read.map((key) => keys[key] ?? '')}
            values={read.map((key) => (values[key] ?? []).slice(0, SHOWN))} identity={name} />
        ))}
      </div>
    </section>
  );
}

export function Chain({ document, row, queries, keys }: RowProps) {
  const text = t.value.own;
  const cap = document.options['softcap'];
  const entering = rowOf(matrix(document, 'masked'), row);
  return (
    <section class="own-chain">
      <h3>{text.chain}</h3>
      {STAGES.map((name) => {
        const found = matrix(document, name);
        const values = rowOf(found, row);
        if (!found || values.length === 0) return null;
        const note = values.length > SHOWN ? `, ${text.first(String(SHOWN), String(values.length))}` : '';
        const isOfKeys = name !== 'q' && name !== 'o';
        return (
          <MatrixGrid key={name} symbol={found.symbol} label={`${text.stages[name]}${note}`} note={`${text.stages[name]}${note}`} rows={[queries[row] ?? '']}
            {...(isOfKeys ? { columns: keys.slice(0, SHOWN), scale: name === 'p' ? 'weights' : 'diverging' } : {})}
            values={[values.slice(0, SHOWN)]} decimals={3} isMasked={(_, column) => (name === 'masked' || name === 'p') && entering[column] === -Infinity}
            {...(name === 'capped' && typeof cap === 'number' ? { most: cap, clip: NEAR_CAP * cap } : {})}
            {...(name === 'q' ? { identity: 'q' } : name === 'o' ? { identity: 'v' } : {})} />
        );
      })}
    </section>
  );
}
