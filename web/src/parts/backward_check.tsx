// Part 8, the checks: central differences with their curve, and why a saturated row returns nothing.
import { matrix, matrixOf, numberOf } from '../model/document';
import { largestSize } from '../model/colour';
import { formatShort } from '../model/number';
import { language } from '../model/view_state';
import { t } from '../messages';
import { ChartFigure } from '../views/chart_figure';
import { LogChart } from '../views/line_chart';
import { Math as Formula } from '../views/math';
import { MatrixGrid } from '../views/matrix_grid';
import { Slider } from '../views/slider';
import { TableTwin } from '../views/table_twin';
import { backwardExponent, backwardSharpness, LEAST_EXPONENT, type BackwardDocument } from './backward_state';

const short = (value: number) => formatShort(value, language.value, 2);
const NAMES = { dq: 'dQ', dk: 'dK', dv: 'dV' } as const;
type Gradient = keyof typeof NAMES;
const GRADIENTS: readonly Gradient[] = ['dq', 'dk', 'dv'];
const identityOf = (gradient: Gradient) => ({ dq: 'q', dk: 'k', dv: 'v' } as const)[gradient];
const ROWS = ['1', '2', '3'];

export function Differences({ document }: { document: BackwardDocument }) {
  const text = t.value.backward;
  return (
    <section>
      <h3>{text.differences}</h3>
      <p class="prose">{text.differencesText}</p>
      <Formula isBlock isTall spoken={text.quotient} tex={'\\frac{\\partial L}{\\partial x} \\approx \\frac{L(x+h) - L(x-h)}{2h}'} />
      <Slider label={text.step} value={backwardExponent.value} least={LEAST_EXPONENT} most={0} step={0.5}
        text={text.stepValue(short(10 ** backwardExponent.value))} change={(value) => (backwardExponent.value = value)} />
      <div class="matrices">
        {(document.differences ?? []).map((one) => {
          const gradient = GRADIENTS.find((name) => name === one.stage);
          if (!gradient) return null;
          return (
            <div key={gradient}>
              <MatrixGrid symbol={`${NAMES[gradient]} ≈`} label={text.differences} rows={ROWS} values={matrixOf(one.values, 4, 0)}
                identity={identityOf(gradient)} decimals={4} scale="diverging" />
              <p class="quiet-text" data-testid={`error-${gradient}`}>{text.error(NAMES[gradient], short(one.max_error))}</p>
            </div>
          );
        })}
      </div>
    </section>
  );
}

export function Curve({ document }: { document: BackwardDocument }) {
  const text = t.value.backward;
  const sweep = document.sweep ?? [];
  const lines = GRADIENTS.map((gradient) => ({
    name: NAMES[gradient],
    identity: identityOf(gradient),
    values: sweep.map((step) => numberOf(step.max_errors[gradient])),
  }));
  if (sweep.length === 0) return null;
  const columns = lines.map((line) => line.name);
  const values = sweep.map((_, index) => lines.map((line) => line.values[index] ?? NaN));
  return (
    <section data-testid="backward-curve">
      <h3>{text.curve}</h3>
      <ChartFigure name={text.curve} rows={sweep.map((step) => String(step.step))} columns={columns} values={values}>
        <LogChart label={text.curve} x={sweep.map((step) => step.step)} lines={lines} mark={10 ** backwardExponent.value}
          xLabel={text.curveX} yLabel={text.curveY} />
      </ChartFigure>
      <p class="prose">{text.curveText}</p>
      <p class="prose quiet-text">{text.curveV}</p>
      <TableTwin label={text.curve} rows={sweep.map((step) => short(step.step))} columns={columns} values={values} />
    </section>
  );
}

export function Saturation({ document }: { document: BackwardDocument }) {
  const text = t.value.backward;
  const weights = matrix(document, 'p')?.values ?? [];
  const gradient = matrix(document, 'ds')?.values ?? [];
  return (
    <section>
      <h3>{text.sharpenTitle}</h3>
      <p class="prose">{text.sharpenText}</p>
      <Slider label={text.sharpen} value={backwardSharpness.value} least={0} most={6} step={0.25}
        text={text.sharpenValue(short(2 ** backwardSharpness.value))} change={(value) => (backwardSharpness.value = value)} />
      <div class="matrices">
        <MatrixGrid symbol="A" label={text.weights} rows={ROWS} columns={ROWS} values={weights} scale="weights" />
        <MatrixGrid symbol="dS" label={text.steps.ds.name} rows={ROWS} columns={ROWS} values={gradient} scale="diverging" most={1} decimals={3} />
      </div>
      <p data-testid="backward-fading">{text.fading(short(largestSize(weights)), short(largestSize(gradient)))}</p>
    </section>
  );
}
