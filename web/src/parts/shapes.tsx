// Part 6: the shape of every matrix; the reader can break one, and hears which mistake is usually behind it.
import { t } from '../messages';
import { parseSize } from '../model/shape_text';
import { PartFrame } from '../views/part_frame';
import { TextField } from '../views/text_field';
import { Lines } from './shapes_lines';
import { error, given, PRESETS, SIZES, start, table, usePreset, type ShapeTable } from './shapes_state';
import { Breaks, Verdict } from './shapes_verdict';
import '../style/shapes.css';

export function ShapesPart({ number }: { number: number }) {
  const words = t.value.shapes;
  const shown = table();
  return (
    <PartFrame name="shapes" number={number} title={words.title} lead={<p>{words.lead}</p>} error={error()} document={shown}>
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
