// Beside the matrix of part 7: the histogram, what each row measures, and the argument for √d_k.
import { formatNumber, formatShort } from '../model/number';
import type { ScoresDocument } from '../model/scores_document';
import { language } from '../model/view_state';
import { t } from '../messages';
import { ChartFigure } from '../views/chart_figure';
import { Histogram } from '../views/histogram';
import { Math as Formula } from '../views/math';
import { RowBars } from '../views/row_bars';
import { Subscripts } from '../views/subscripts';
import { TableTwin } from '../views/table_twin';
import { matrixLink, matrixSentence } from './matrix_state';

const short = (value: number | null) => (value === null ? '—' : formatShort(value, language.value));

export function Spread({ document }: { document: ScoresDocument }) {
  const text = t.value.matrix;
  const { deviation, histogram } = document;
  const law =
    deviation.noise === null
      ? text.measuredAll(short(deviation.all), short(deviation.expected))
      : text.measured(short(deviation.noise), short(deviation.expected));
  const middles = histogram.counts.map((_, bin) => ((histogram.edges[bin] ?? 0) + (histogram.edges[bin + 1] ?? 0)) / 2);
  const [columns, counts] = [[text.count], histogram.counts.map((count) => [count])];
  return (
    <div class="measure">
      <h3>{text.histogram}</h3>
      <ChartFigure name={text.histogram} rows={middles.map(String)} columns={columns} values={counts}>
        <Histogram label={`${text.histogram}. ${law}`} edges={histogram.edges} counts={histogram.counts}
          deviation={deviation.expected} deviationLabel="√d_k" xLabel={text.score} yLabel={text.count} format={short} />
      </ChartFigure>
      <p data-testid="matrix-law">
        <Subscripts text={`${law} ${text.scaled(short(deviation.scaled))}`} />
      </p>
      <TableTwin label={text.histogram} rows={middles.map(short)} columns={columns} values={counts} />
    </div>
  );
}

export function Rows({ document }: { document: ScoresDocument }) {
  const text = t.value.matrix;
  const lit = (matrixLink.hover.value ?? matrixLink.pin.value)?.query;
  const most = { largest: 1, entropy: Math.log(document.dims.n), gradient: 1 };
  const names = ['largest', 'entropy', 'gradient'] as const;
  return (
    <div class="measure is-strip" data-testid="matrix-rows">
      {names.map((name) => (
        <div key={name}>
          <h3>{text[name]}</h3>
          <ChartFigure name={text[name]} rows={matrixSentence.value.tokens} columns={[text[name]]} values={document.rows[name].map((value) => [value])}>
            <RowBars label={`${text[name]}: ${text.ofRows(short(document.means[name]))}`} values={document.rows[name]} most={most[name]} mostText={short(most[name])} lit={lit} />
          </ChartFigure>
          <p>
            {text[`${name}Text`]}; <b>{text.ofRows(formatNumber(document.means[name], language.value, 3))}</b>
          </p>
        </div>
      ))}
      <TableTwin label={names.map((name) => text[name]).join(', ')} rows={matrixSentence.value.tokens}
        columns={names.map((name) => text[name])}
        values={document.rows.largest.map((value, row) => [value, document.rows.entropy[row] ?? 0, document.rows.gradient[row] ?? 0])} />
    </div>
  );
}

export function Argument() {
  const text = t.value.matrix;
  return (
    <div class="argument">
      <h3>
        <Subscripts text={text.why} />
      </h3>
      <Formula isBlock isTall spoken={text.argumentSpoken}
        tex={'\\operatorname{Var}\\Big(\\sum_{c=1}^{d_k} q_c k_c\\Big) = d_k \\quad\\Rightarrow\\quad \\sigma = \\sqrt{d_k}'} />
      {[...text.argument, text.saturated].map((line) => (
        <p key={line}>
          <Subscripts text={line} />
        </p>
      ))}
      <p class="quiet-text">
        <Subscripts text={text.drawn} />
      </p>
    </div>
  );
}
