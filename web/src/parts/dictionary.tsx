// Part 1: a dictionary look-up beside the soft one; the reader turns the question.
import { t } from '../messages';
import { matrix, rowOf } from '../model/document';
import { formatNumber } from '../model/number';
import { language } from '../model/view_state';
import { AnswerCurve } from '../views/answer_curve';
import { Dial } from '../views/dial';
import { PartFrame } from '../views/part_frame';
import { Slider } from '../views/slider';
import { TableTwin } from '../views/table_twin';
import { TwoArrows } from '../views/two_arrows';
import { answer, AROUND, COMPARED, compared, curve, length, LONGEST, PLUM, STOCK, turned } from './dictionary_state';
import '../style/dictionary.css';

const number = (value: number, decimals = 2) => formatNumber(value, language.value, decimals);

/** One row of a stage of the document that follows the question. */
function read(name: string): readonly number[] {
  const document = answer.value.document;
  return document ? rowOf(matrix(document, name), 0) : [];
}

export function DictionaryPart({ number: place }: { number: number }) {
  const words = t.value.dictionary;
  return (
    <PartFrame name="dictionary" number={place} title={words.title} lead={<p>{words.lead}</p>} error={answer.value.error}>
      <Question />
      <div class="two-dictionaries">
        <HardSide />
        <SoftSide />
      </div>
      <Curve />
      <DotProducts />
    </PartFrame>
  );
}

function Question() {
  const words = t.value.dictionary;
  const places = [...STOCK, { name: 'plum' as const, degrees: PLUM }];
  return (
    <div class="question">
      <div class="question-words" role="group" aria-label={words.ask}>
        <span>{words.ask}</span>
        {places.map(({ name, degrees }) => (
          <button
            key={name}
            type="button"
            aria-pressed={turned.value === degrees}
            onClick={() => {
              turned.value = degrees;
            }}
          >
            {words.words[name]}
          </button>
        ))}
      </div>
      <p class="hint">{words.askHint}</p>
    </div>
  );
}

/** The question in words: where it points. */
function directionSaid(): string {
  const words = t.value.dictionary;
  const key = STOCK.find(({ degrees }) => degrees === turned.value);
  const degrees = String(turned.value);
  if (key) return words.turnAtKey(degrees, words.words[key.name]);
  return turned.value === PLUM ? words.turnAtPlum(degrees) : words.turnValue(degrees);
}

function HardSide() {
  const words = t.value.dictionary;
  const key = STOCK.find(({ degrees }) => degrees === turned.value);
  const missing = turned.value === PLUM ? words.hardMissingPlum : words.hardMissing;
  const stock = STOCK.map(({ name, value }) => `${words.words[name]}: ${value}`).join(', ');
  const asked = key ? words.words[key.name] : turned.value === PLUM ? words.words.plum : '?';
  return (
    <section class="hard-side">
      <h3>{words.hardTitle}</h3>
      <p>{words.hardText}</p>
      <pre class="look-up">
        <code>{`${words.stock} = {${stock}}\n${words.stock}[${asked}]`}</code>
      </pre>
      <p class={key ? 'big-answer' : 'big-answer is-missing'} data-testid="hard-answer" aria-live="polite">
        {key ? key.value : missing}
      </p>
      <p class="hint">{key ? words.hardFound(words.words[key.name], String(key.value)) : words.hardNear}</p>
    </section>
  );
}

function SoftSide() {
  const words = t.value.dictionary;
  const weights = read('p');
  const keys = STOCK.map((key, at) => ({ name: words.words[key.name], degrees: key.degrees, weight: weights[at] ?? 0 }));
  const parts = keys.map((key) => words.saidPart(key.name, number(key.weight))).join(', ');
  return (
    <section class="soft-side">
      <h3>{words.softTitle}</h3>
      <p>{words.softText}</p>
      <div class="soft-body">
        <Dial
          degrees={turned.value}
          reach={Math.sqrt(length.value / LONGEST)}
          keys={keys}
          absent={{ name: words.words.plum, degrees: PLUM }}
          label={words.dialLabel}
          said={`${directionSaid()}; ${words.said(parts, number(read('o')[0] ?? NaN))}`}
          turn={(degrees) => {
            turned.value = degrees;
          }}
        />
        <SoftTable />
      </div>
      <div class="dial-sliders">
        <Slider label={words.turn} value={turned.value} least={0} most={359} text={`${turned.value}°`} change={(next) => (turned.value = next)} />
        <Slider label={words.length} value={length.value} least={0} most={LONGEST} step={0.5} text={number(length.value, 1)} change={(next) => (length.value = next)} />
      </div>
      <p class="hint">{words.turnHint} {words.lengthHint}</p>
    </section>
  );
}

function SoftTable() {
  const words = t.value.dictionary;
  const [scores, weights] = [read('scaled'), read('p')];
  const sum = STOCK.map((key, at) => `${number(weights[at] ?? NaN)} × ${key.value}`).join(' + ');
  return (
    <div class="soft-table">
      <table>
        <thead>
          <tr>
            {[words.key, words.score, words.weight, words.value].map((head, at) => (
              <th key={at} scope="col" colSpan={head === words.weight ? 2 : 1}>{head}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {STOCK.map((key, at) => (
            <tr key={key.name}>
              <th scope="row">{words.words[key.name]}</th>
              <td>{number(scores[at] ?? NaN)}</td>
              <td data-testid={`weight-${key.name}`}>{number(weights[at] ?? NaN)}</td>
              <td class="bar-cell" aria-hidden="true">
                <span class="weight-bar" style={{ width: `${100 * (weights[at] ?? 0)}%` }} />
              </td>
              <td>{key.value}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="soft-sum">{sum} =</p>
      <p class="big-answer" data-testid="soft-answer">{number(read('o')[0] ?? NaN)}</p>
    </div>
  );
}

function Curve() {
  const words = t.value.dictionary;
  const document = curve.value.document;
  const answers = document ? (matrix(document, 'o')?.values ?? []).map((row) => row[0] ?? NaN) : [];
  const every = AROUND.filter((degrees) => degrees % 15 === 0);
  return (
    <section class="curve">
      <h3>{words.curveTitle}</h3>
      <p>{words.curveText}</p>
      <AnswerCurve
        around={AROUND}
        answers={answers}
        points={STOCK.map((key) => ({ ...key, name: words.words[key.name] }))}
        at={{ degrees: turned.value, value: read('o')[0] ?? NaN }}
        label={words.curveTitle}
        soft={words.curveSoft}
        hard={words.curveHard}
        xLabel={words.curveX}
        yLabel={words.curveY}
        text={(value) => number(value, 0)}
      />
      <TableTwin
        label={words.curveTitle}
        rows={every.map((degrees) => `${degrees}°`)}
        columns={[words.answer]}
        values={every.map((degrees) => [answers[degrees / 3] ?? NaN])}
      />
    </section>
  );
}

function DotProducts() {
  const words = t.value.dictionary;
  const document = compared.value.document;
  const products = document ? (matrix(document, 'raw')?.values ?? []) : [];
  return (
    <section class="dots">
      <h3>{words.dotTitle}</h3>
      <p>{words.dotText}</p>
      <div class="dot-pictures">
        {COMPARED.map(({ name, degrees }, at) => {
          const value = number(products[at]?.[0] ?? NaN);
          return (
            <TwoArrows key={name} query={degrees} target={0} value={value} caption={words[name]} label={words.dotPicture(words[name], value)} />
          );
        })}
      </div>
    </section>
  );
}
