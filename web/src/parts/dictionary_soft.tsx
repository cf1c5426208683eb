// Part 1, the soft dictionary: the dial, and what every key contributes.
import { t } from '../messages';
import { formatNumber } from '../model/number';
import { language } from '../model/view_state';
import { ChartFigure } from '../views/chart_figure';
import { Dial } from '../views/dial';
import { Slider } from '../views/slider';
import { answered, length, LONGEST, PLUM, STOCK, turned } from './dictionary_state';

const number = (value: number, decimals = 2) => formatNumber(value, language.value, decimals);

/** The question in words: where it points. */
function directionSaid(): string {
  const words = t.value.dictionary;
  const key = STOCK.find(({ degrees }) => degrees === turned.value);
  const degrees = String(turned.value);
  if (key) return words.turnAtKey(degrees, words.words[key.name]);
  return turned.value === PLUM ? words.turnAtPlum(degrees) : words.turnValue(degrees);
}

export function SoftSide() {
  const words = t.value.dictionary;
  const [scores, weights, [result = NaN]] = [answered('scaled'), answered('p'), answered('o')];
  const keys = STOCK.map((key, at) => ({ name: words.words[key.name], degrees: key.degrees, weight: weights[at] ?? 0 }));
  const parts = keys.map((key) => words.saidPart(key.name, number(key.weight))).join(', ');
  return (
    <section class="soft-side">
      <h3>{words.softTitle}</h3>
      <p>{words.softText}</p>
      <div class="soft-body">
        <ChartFigure name={words.softTitle} rows={keys.map((key) => key.name)} columns={[words.score, words.weight, words.value]}
          values={STOCK.map((key, at) => [scores[at] ?? NaN, weights[at] ?? NaN, key.value])}>
          <Dial degrees={turned.value} reach={Math.sqrt(length.value / LONGEST)} keys={keys}
            absent={{ name: words.words.plum, degrees: PLUM }} label={words.dialLabel}
            said={`${directionSaid()}; ${words.said(parts, number(result))}`} turn={(degrees) => (turned.value = degrees)} />
        </ChartFigure>
        <SoftTable scores={scores} weights={weights} result={result} />
      </div>
      <div class="dial-sliders">
        <Slider label={words.turn} value={turned.value} least={0} most={359} text={`${turned.value}°`} change={(next) => (turned.value = next)} />
        <Slider label={words.length} value={length.value} least={0} most={LONGEST} step={0.5} text={number(length.value, 1)} change={(next) => (length.value = next)} />
      </div>
      <p class="hint">
        {words.turnHint} {words.lengthHint}
      </p>
    </section>
  );
}

interface SoftTableProps {
  readonly scores: readonly number[];
  readonly weights: readonly number[];
  readonly result: number;
}

function SoftTable({ scores, weights, result }: SoftTableProps) {
  const words = t.value.dictionary;
  const sum = STOCK.map((key, at) => `${number(weights[at] ?? NaN)} × ${key.value}`).join(' + ');
  return (
    <div class="soft-table">
      <table>
        <thead>
          <tr>
            {[words.key, words.score, words.weight, words.value].map((head, at) => (
              <th key={at} scope="col" colSpan={head === words.weight ? 2 : 1}>
                {head}
              </th>
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
      <p class="big-answer" data-testid="soft-answer">
        {number(result)}
      </p>
    </div>
  );
}
