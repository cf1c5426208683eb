// Part 6: the shape of every matrix; the reader can break one, and hears which mistake is usually behind it.
import { t } from '../messages';
import { formatShape, isSameShape, parseShape, parseSize, type Shape } from '../model/shape_text';
import { language } from '../model/view_state';
import { PartFrame } from '../views/part_frame';
import { ShapePicture } from '../views/shape_picture';
import { TextField } from '../views/text_field';
import { error, found, given, PRESETS, setFound, SIZES, start, table, usePreset, type ShapeLine, type ShapeTable } from './shapes_state';
import '../style/shapes.css';

export function ShapesPart({ number }: { number: number }) {
  const words = t.value.shapes;
  const shown = table();
  return (
    <PartFrame name="shapes" number={number} title={words.title} lead={<p>{words.lead}</p>} error={error()}>
      <Presets />
      {shown && <Sizes shown={shown} />}
      {shown && <Verdict shown={shown} />}
      {shown && <Lines shown={shown} />}
      {shown && <Breaks shown={shown} />}
    </PartFrame>
  );
}

function Presets() {
  const words = t.value.shapes;
  return (
    <div class="presets" role="group" aria-label={words.presets}>
      <span>{words.presets}</span>
      {PRESETS.map((name) => (
        <button key={name} type="button" aria-pressed={start.value === name} onClick={() => usePreset(name)}>
          {words.preset[name]} <small>{words.presetText[name]}</small>
        </button>
      ))}
    </div>
  );
}

function Sizes({ shown }: { readonly shown: ShapeTable }) {
  const words = t.value.shapes;
  return (
    <fieldset class="sizes">
      <legend>{words.sizes}</legend>
      {SIZES.map((name) => (
        <div key={name} class="size">
          <b>{name}</b>
          <TextField
            label={`${name}: ${words.size[name]}`}
            text={given[name].value === null ? String(shown.sizes[name]) : String(given[name].value)}
            width={6}
            read={parseSize}
            change={(value) => (given[name].value = value)}
            clear={() => (given[name].value = null)}
            complain={() => words.badSize(name)}
          />
          <span>{words.size[name]}</span>
        </div>
      ))}
    </fieldset>
  );
}

function symbolOf(shown: ShapeTable, line: string): string {
  return shown.lines.find((one) => one.name === line)?.symbol ?? line;
}

function Verdict({ shown }: { readonly shown: ShapeTable }) {
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
      <p class="verdict-title">{words.breaks(symbolOf(shown, broken.line))}</p>
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

function Lines({ shown }: { readonly shown: ShapeTable }) {
  const words = t.value.shapes;
  const heads = [words.matrix, words.letters, words.shape, words.full, words.draw, words.meaning];
  return (
    <>
      <p class="hint">{words.editHint}</p>
      <div class="lines" tabIndex={0} role="region" aria-label={words.matrix}>
        <table>
          <thead>
            <tr>
              {heads.map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.lines.map((line) => (
              <Line key={line.name} line={line} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Line({ line }: { readonly line: ShapeLine }) {
  const words = t.value.shapes;
  const typed = found.value[line.name];
  const identity = /^w?([qkv])$/.exec(line.name)?.[1] ?? '';
  return (
    <tr class={line.ok ? '' : 'is-broken'} data-line={line.name}>
      <th scope="row" class={`is-${identity}`}>
        <Symbol text={line.symbol} />
      </th>
      <td>[{line.dims.join(', ')}]</td>
      <td>
        <TextField
          label={words.editShape(line.symbol)}
          text={formatShape(typed ?? line.shape)}
          width={12}
          read={parseShape}
          change={(shape: Shape) => setFound(line.name, isSameShape(shape, line.shape) ? null : shape)}
          clear={() => setFound(line.name, null)}
          complain={words.badShape}
        />
      </td>
      <td class="quiet-text">{formatShape(line.full_shape)}</td>
      <td>
        <ShapePicture shape={typed ?? line.shape} identity={identity} />
      </td>
      <td class="meaning">{line.meaning[language.value]}</td>
    </tr>
  );
}

/** "W_Q" with its letter below the line. */
function Symbol({ text }: { readonly text: string }) {
  return <>{text.split(/_(\p{L})/u).map((part, at) => (at % 2 === 1 ? <sub key={at}>{part}</sub> : part))}</>;
}

function Breaks({ shown }: { readonly shown: ShapeTable }) {
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
          {words.breaking[name]}
        </button>
      ))}
    </div>
  );
}
