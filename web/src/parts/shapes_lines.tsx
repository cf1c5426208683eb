// Part 6, the table: a line for each matrix, whose shape can be typed over.
import { t } from '../messages';
import { formatShape, isSameShape, parseShape, type Shape } from '../model/shape_text';
import type { Provenance, TableOf } from '../model/export';
import { tablePicture } from '../model/table_picture';
import { language } from '../model/view_state';
import { Math as Formula } from '../views/math';
import { SaveButton } from '../views/save_menu';
import { ShapePicture } from '../views/shape_picture';
import { Subscripts } from '../views/subscripts';
import { TextField } from '../views/text_field';
import { found, setFound, type ShapeLine, type ShapeTable } from './shapes_state';

const RULE =
  '\\underset{n \\times D}{Q}\\; \\underset{D \\times T}{K^{\\mathsf T}} = \\underset{n \\times T}{S} \\qquad ' +
  '\\underset{n \\times T}{A}\\; \\underset{T \\times D_v}{V} = \\underset{n \\times D_v}{O}';

export function Lines({ shown }: { readonly shown: ShapeTable }) {
  const words = t.value.shapes;
  const heads = [words.matrix, words.letters, words.shape, words.full, words.draw, words.meaning];
  const subject = () => {
    const table: TableOf = {
      name: words.table,
      rows: shown.lines.map((line) => line.symbol),
      columns: [words.letters, words.shape, words.full, words.meaning],
      values: shown.lines.map((line) => [lettersOf(line), formatShape(shapeOf(line)), formatShape(line.full_shape), line.meaning[language.peek()]]),
    };
    return { table, picture: (from: Provenance) => tablePicture(table, from, { most: 0, text: String }) };
  };
  return (
    <>
      <div class="shape-rule">
        <p>{words.rule}</p>
        <Formula isBlock isTall spoken={words.ruleSpoken} tex={RULE} />
      </div>
      <div class="lines-head">
        <p class="hint">{words.editHint}</p>
        <SaveButton name={words.table} subject={subject} />
      </div>
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

const lettersOf = (line: ShapeLine) => `[${line.dims.join(', ')}]`;
/** As the reader typed it, or as the engine has it. */
const shapeOf = (line: ShapeLine) => found.value[line.name] ?? line.shape;

function Line({ line }: { readonly line: ShapeLine }) {
  const words = t.value.shapes;
  const identity = /^w?([qkv])$/.exec(line.name)?.[1] ?? '';
  return (
    <tr class={line.ok ? '' : 'is-broken'} data-line={line.name}>
      <th scope="row" class={`is-${identity}`}>
        <Subscripts text={line.symbol} />
      </th>
      <td>{lettersOf(line)}</td>
      <td>
        <TextField
          label={words.editShape(line.symbol)}
          text={formatShape(shapeOf(line))}
          width={12}
          read={parseShape}
          change={(shape: Shape) => setFound(line.name, isSameShape(shape, line.shape) ? null : shape)}
          clear={() => setFound(line.name, null)}
          complain={words.badShape}
        />
      </td>
      <td class="quiet-text">{formatShape(line.full_shape)}</td>
      <td>
        <ShapePicture shape={shapeOf(line)} identity={identity} />
      </td>
      <td class="meaning">{line.meaning[language.value]}</td>
    </tr>
  );
}
