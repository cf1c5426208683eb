// Part 7: the whole matrix of a sentence, and what the width of q and k does to it.
import { matrixOf, type Stage } from '../model/document';
import { formatNumber } from '../model/number';
import type { ScoresDocument } from '../model/scores_document';
import { language } from '../model/view_state';
import { t } from '../messages';
import { ColourBar } from '../views/colour_bar';
import { MatrixMap } from '../views/matrix_map';
import { PartFrame } from '../views/part_frame';
import { SaveMap } from '../views/save_map';
import { Slider } from '../views/slider';
import { Choice, Switch } from '../views/switch';
import { Subscripts } from '../views/subscripts';
import { TableTwin } from '../views/table_twin';
import { Argument, Rows, Spread } from './matrix_measures';
import { LONGEST } from './matrix_sentence';
import * as state from './matrix_state';

const read = new WeakMap<Stage, number[][]>();

/** The rows of a stage, read once: pointing at the map must not read them again. */
function rowsOf(document: ScoresDocument, name: string): number[][] {
  const stage = document.stages.find((one) => one.name === name);
  if (!stage) return [];
  const known = read.get(stage) ?? matrixOf(stage.values, 2, 0);
  read.set(stage, known);
  return known;
}

function Controls() {
  const text = t.value.matrix;
  const two = (value: number) => formatNumber(value, language.value, 2);
  return (
    <div class="controls">
      <Choice label={text.function} value={state.matrixFunction.value}
        options={state.scoreFunctions.map((value) => ({ value, label: text.functions[value] }))}
        change={(value) => (state.matrixFunction.value = value)} />
      {state.matrixFunction.value === 'mix' &&
        state.matrixMix.map((weight, index) => (
          <Slider key={index} label={text.mix[index] ?? ''} value={weight.value} least={0} most={3} step={0.05}
            text={two(weight.value)} change={(value) => (weight.value = value)} />
        ))}
      <Slider label={text.width} value={state.matrixWidth.value} least={1} most={state.WIDEST}
        text={String(state.matrixWidth.value)} change={(value) => (state.matrixWidth.value = value)} />
      <Switch label={text.divide} isOn={state.matrixDivide.value} change={(isOn) => (state.matrixDivide.value = isOn)} />
      <Slider label={text.tokens} value={state.matrixTokens.value} least={4} most={LONGEST}
        text={String(state.matrixTokens.value)} change={(value) => (state.matrixTokens.value = value)} />
      <button type="button" onClick={() => (state.matrixSeed.value += 1)}>
        {text.draw}
      </button>
    </div>
  );
}

function Weights({ document }: { document: ScoresDocument }) {
  const text = t.value.matrix;
  const { tokens } = state.matrixSentence.value;
  const values = rowsOf(document, 'p');
  const place = state.matrixLink.hover.value ?? state.matrixLink.pin.value;
  const say = (row: number, column: number) =>
    text.cell(tokens[row] ?? '', tokens[column] ?? '', formatNumber(values[row]?.[column] ?? NaN, language.value, 3));
  return (
    <div class="whole">
      <div class="whole-map">
        <MatrixMap label={`A: ${text.map}`} values={values} scale="weights" most={1} link={state.matrixLink} sentence={say} />
        <div class="map-foot">
          <ColourBar scale="weights" most={1} label={`A: ${text.map}`} />
          <SaveMap name="A" rows={tokens} columns={tokens} values={values} scale="weights" most={1} />
        </div>
        <p class="map-note" data-testid="matrix-note">
          {place?.query !== undefined && place.key !== undefined ? say(place.query, place.key) : text.hint}
        </p>
      </div>
      <TableTwin label={`A: ${text.map}`} rows={tokens} columns={tokens} values={values} />
    </div>
  );
}

export function MatrixPart({ number }: { number: number }) {
  const text = t.value.matrix;
  const { document, error } = state.matrixScores.value;
  return (
    <PartFrame name="matrix" number={number} title={text.title} lead={<p><Subscripts text={text.lead} /></p>} error={error} document={document}>
      <Controls />
      {document && (
        <div class="beside">
          <Weights document={document} />
          <Spread document={document} />
          <Rows document={document} />
          <Argument />
        </div>
      )}
    </PartFrame>
  );
}
