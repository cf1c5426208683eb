// Part 1, the pictures: the answer all the way round, and how two arrows are compared.
import { t } from '../messages';
import { matrix } from '../model/document';
import { formatNumber } from '../model/number';
import { language } from '../model/view_state';
import { AnswerCurve } from '../views/answer_curve';
import { ChartFigure } from '../views/chart_figure';
import { TableTwin } from '../views/table_twin';
import { TwoArrows } from '../views/two_arrows';
import { answered, AROUND, COMPARED, compared, curve, STOCK, turned } from './dictionary_state';

const number = (value: number, decimals = 2) => formatNumber(value, language.value, decimals);
const TABLE_STEP = 15; // degrees

export function Curve() {
  const words = t.value.dictionary;
  const { document } = curve.value;
  const answers = document ? (matrix(document, 'o')?.values ?? []).map((row) => row[0] ?? NaN) : [];
  const all = AROUND.map((degrees, at) => ({ degrees, answer: answers[at] ?? NaN }));
  const some = all.filter(({ degrees }) => degrees % TABLE_STEP === 0);
  const columns = [words.answer];
  return (
    <section class="curve">
      <h3>{words.curveTitle}</h3>
      <p>{words.curveText}</p>
      <ChartFigure name={words.curveTitle} rows={all.map(({ degrees }) => `${degrees}°`)} columns={columns}
        values={all.map((one) => [one.answer])} document={document}>
        <AnswerCurve around={AROUND} answers={answers} points={STOCK.map((key) => ({ ...key, name: words.words[key.name] }))}
          at={{ degrees: turned.value, value: answered('o')[0] ?? NaN }} label={words.curveTitle} soft={words.curveSoft}
          hard={words.curveHard} xLabel={words.curveX} yLabel={words.curveY} text={(value) => number(value, 0)} />
      </ChartFigure>
      <TableTwin label={words.curveTitle} rows={some.map(({ degrees }) => `${degrees}°`)} columns={columns}
        values={some.map((one) => [one.answer])} />
    </section>
  );
}

export function DotProducts() {
  const words = t.value.dictionary;
  const { document } = compared.value;
  const products = document ? (matrix(document, 'raw')?.values ?? []) : [];
  const all = COMPARED.map(({ name, degrees }, at) => ({ name: words[name], degrees, product: products[at]?.[0] ?? NaN }));
  return (
    <section class="dots">
      <h3>{words.dotTitle}</h3>
      <p>{words.dotText}</p>
      <ChartFigure name={words.dotTitle} rows={all.map((one) => one.name)} columns={[words.dotProduct]}
        values={all.map((one) => [one.product])} document={document}>
        <div class="dot-pictures">
          {all.map(({ name, degrees, product }) => (
            <TwoArrows key={name} query={degrees} target={0} value={number(product)} caption={name}
              label={words.dotPicture(name, number(product))} />
          ))}
        </div>
      </ChartFigure>
    </section>
  );
}
