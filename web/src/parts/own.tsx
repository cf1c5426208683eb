// Part 9: the reader's own q, k and v. They are read in the page; any head and row of them can be looked at.
import { useEffect } from 'preact/hooks';
import { matrix, type Document, type Matrix } from '../model/document';
import { formatNumber } from '../model/number';
import type { OwnProblem } from '../model/own_problem';
import { language } from '../model/view_state';
import { t } from '../messages';
import { ColourBar } from '../views/colour_bar';
import { DropZone } from '../views/drop_zone';
import { MatrixMap } from '../views/matrix_map';
import { PartFrame } from '../views/part_frame';
import { SaveMap } from '../views/save_map';
import { Slider } from '../views/slider';
import { Switch } from '../views/switch';
import { Chain, Reads } from './own_row';
import * as state from './own_state';

const read = new WeakMap<Document, { p: Matrix | undefined; masked: Matrix | undefined }>();

/** The matrices of a document, read once. */
function matricesOf(document: Document) {
  const known = read.get(document) ?? { p: matrix(document, 'p'), masked: matrix(document, 'masked') };
  read.set(document, known);
  return known;
}

function Index({ label, value, count, change }: { label: string; value: number; count: number; change: (value: number) => void }) {
  return count > 1 ? <Slider label={label} value={value} least={0} most={count - 1} text={String(value)} change={change} /> : null;
}

function Controls({ file }: { file: OwnProblem }) {
  const text = t.value.own;
  const { batch, head, row } = state.ownPlace.value;
  const sizes = text.shape(file.name, String(file.heads), String(file.queries), String(file.keys));
  return (
    <div class="controls">
      <p data-testid="own-file">
        {sizes} {state.ownIsOpened.value && <span class="quiet-text">({text.opened(file.name)})</span>}{' '}
        <button type="button" class="quiet" onClick={state.closeOwn}>
          {text.close}
        </button>
      </p>
      <Index label={text.batch} value={batch} count={file.batches} change={(value) => (state.ownBatch.value = value)} />
      <Index label={text.head} value={head} count={file.heads} change={(value) => (state.ownHead.value = value)} />
      <Index label={text.row} value={row} count={file.queries} change={(value) => (state.ownRow.value = value)} />
      <Switch label={text.causal} isOn={state.ownCausal.value} change={(isOn) => (state.ownCausal.value = isOn)} />
    </div>
  );
}

function Head({ document }: { document: Document }) {
  const text = t.value.own;
  const { p, masked } = matricesOf(document);
  const values = p?.values ?? [];
  const named = (given: readonly string[] | undefined, count: number) => Array.from({ length: count }, (_, i) => given?.[i] ?? String(i));
  const queries = named(document.tokens?.[language.value], values.length);
  const keys = named((document.key_tokens ?? document.tokens)?.[language.value], values[0]?.length ?? 0);
  const row = Math.min(state.ownPlace.value.row, values.length - 1);
  const say = (i: number, j: number) => text.cell(queries[i] ?? '', keys[j] ?? '', formatNumber(values[i]?.[j] ?? NaN, language.value, 4));
  const place = state.ownLink.hover.value ?? state.ownLink.pin.value;
  const isMasked = (i: number, j: number) => masked?.values[i]?.[j] === -Infinity;
  return (
    <div class="beside">
      <div class="whole-map">
        <MatrixMap label={`A: ${text.weights}`} values={values} scale="weights" most={1} link={state.ownLink} sentence={say} isMasked={isMasked} />
        <div class="map-foot">
          <ColourBar scale="weights" most={1} label={`A: ${text.weights}`} hasMasked />
          <SaveMap name="A" rows={queries} columns={keys} values={values} scale="weights" most={1} isMasked={isMasked} />
        </div>
        <p class="map-note">{place?.query !== undefined && place.key !== undefined ? say(place.query, place.key) : text.hint}</p>
      </div>
      <Reads document={document} row={row} queries={queries} keys={keys} />
      <Chain document={document} row={row} queries={queries} keys={keys} />
    </div>
  );
}

export function OwnPart({ number }: { number: number }) {
  const text = t.value.own;
  const { document, error } = state.ownLive.value;
  const file = state.ownFile.value;
  const refusal = state.ownRefusal.value;
  useEffect(() => void state.readOpened(), []);
  const refused = refusal ? text.problems[refusal.problem](refusal.values) : null;
  return (
    <PartFrame name="own" number={number} title={text.title} lead={<p>{text.lead}</p>} error={refused ?? (file ? error : null)} document={document}>
      <DropZone label={text.drop} button={text.choose} note={state.ownIsReading.value ? text.reading : text.needs}
        accept=".safetensors,.npz,.json" take={(chosen) => void state.readOwn(chosen)} />
      {file && <Controls file={file} />}
      {file && document && <Head document={document} />}
    </PartFrame>
  );
}
