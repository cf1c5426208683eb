// Part 6, what breaks: the first line that does not fit with its usual mistake, and mistakes to make on purpose.
import { t } from '../messages';
import { isSameShape, type Shape } from '../model/shape_text';
import { language } from '../model/view_state';
import { Subscripts } from '../views/subscripts';
import { found, type ShapeTable } from './shapes_state';

function symbolOf(shown: ShapeTable, line: string): string {
  return shown.lines.find((one) => one.name === line)?.symbol ?? line;
}

export function Verdict({ shown }: { readonly shown: ShapeTable }) {
  const words = t.value.shapes;
  const { broken } = shown;
  if (!broken)
    return (
      <p class="verdict" role="status" data-testid="shapes-verdict">
        {words.fits}
      </p>
    );
  return (
    <div class="verdict is-broken" role="status" data-testid="shapes-verdict">
      <p class="verdict-title">
        <Subscripts text={words.breaks(symbolOf(shown, broken.line))} />
      </p>
      <p>
        {words.expected} <b>{broken.expected}</b>, {words.found} <b>{broken.found}</b>
      </p>
      <p>
        {words.mistake}: {broken.mistake[language.value]}.
      </p>
      <p class="hint">{words.only}</p>
      {Object.keys(found.value).length > 0 && (
        <button type="button" onClick={() => (found.value = {})}>
          {words.repairAll}
        </button>
      )}
    </div>
  );
}

export function Breaks({ shown }: { readonly shown: ShapeTable }) {
  const words = t.value.shapes;
  const { n, C, heads, D, Dv, T } = shown.sizes;
  const mistakes: readonly [keyof typeof words.breaking, string, Shape][] = [
    ['split', 'q', [n, C]],
    ['transpose', 'k', [D, T]],
    ['pad', 'v', [T + 3, Dv]],
    ['merge', 'merged', [n, Dv]],
    ['repeat', 'wk', [C, heads * D]],
  ];
  // With these sizes some mistakes make no difference: one head averaged is one head.
  const fits = (name: string, shape: Shape) =>
    shown.lines.some((line) => line.name === name && (isSameShape(line.shape, shape) || isSameShape(line.full_shape, shape)));
  return (
    <div class="breaks" role="group" aria-label={words.breakTitle}>
      <span>{words.breakTitle}</span>
      {mistakes.filter(([, line, shape]) => !fits(line, shape)).map(([name, line, shape]) => (
        <button key={name} type="button" onClick={() => (found.value = { [line]: shape })}>
          <Subscripts text={words.breaking[name]} />
        </button>
      ))}
    </div>
  );
}
