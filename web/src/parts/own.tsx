// Part 9: the reader's own q, k and v. They are read in the page; any head and row of them can be looked at.
import { useEffect, useMemo } from 'preact/hooks';
import { matrix, type Document } from '../model/document';
import { largestSize } from '../model/colour';
import { formatNumber } from '../model/number';
import { language } from '../model/view_state';
import { t } from '../messages';
import { ColourBar } from '../views/colour_bar';
import { DropZone } from '../views/drop_zone';
import { MatrixMap } from '../views/matrix_map';
import { PartFrame } from '../views/part_frame';
import { SaveMap } from '../views/save_map';
import { Choice } from '../views/switch';
import { FileLine, Options, Places, Progress } from './own_controls';
import { Chain, ReadKeys, Reads } from './own_row';
import * as state from './own_state';

function Head({ document }: { document: Document }) {
  const text = t.value.own;
  const values = matrix(document, 'p')?.values ?? [];
  const masked = matrix(document, 'masked');
  const named = (given: readonly string[] | undefined, count: number) => Array.from({ length: count }, (_, i) => given?.[i] ?? String(i));
  const queries = named(document.tokens?.[language.value], values.length);
  const keys = named((document.key_tokens ?? document.tokens)?.[language.value], values[0]?.length ?? 0);
  const row = Math.min(state.ownPlace.value.row, values.length - 1);
  const say = (i: number, j: number) => text.cell(queries[i] ?? '', keys[j] ?? '', formatNumber(values[i]?.[j] ?? NaN, language.value, 4));
  const place = state.ownLink.hover.value ?? state.ownLink.pin.value;
  const isMasked = (i: number, j: number) => masked?.values[i]?.[j] === -Infinity;
  const largest = useMemo(() => largestSize(values), [document]);
  const most = state.ownTop.value === 'one' ? 1 : largest;
  const hasMasked = useMemo(() => masked?.values.some((scores) => scores.includes(-Infinity)) ?? false, [document]);
  return (
    <div class="beside">
      <div class="whole-map">
        <MatrixMap label={`A: ${text.weights}`} values={values} scale="weights" most={most} link={state.ownLink} sentence={say} isMasked={isMasked} />
        <div class="map-foot">
          <ColourBar scale="weights" most={most} label={`A: ${text.weights}`} hasMasked={hasMasked} />
          <SaveMap name="A" rows={queries} columns={keys} values={values} scale="weights" most={most} isMasked={isMasked} />
        </div>
        <Choice label={text.top} value={state.ownTop.value}
          options={(['one', 'largest'] as const).map((value) => ({ value, label: text.tops[value] }))}
          change={(value) => (state.ownTop.value = value)} />
        <p class="map-note">{place?.query !== undefined && place.key !== undefined ? say(place.query, place.key) : text.hint}</p>
      </div>
      <Reads document={document} row={row} queries={queries} keys={keys} />
      <ReadKeys document={document} row={row} queries={queries} keys={keys} />
      <Chain document={document} row={row} queries={queries} keys={keys} />
    </div>
  );
}

export function OwnPart({ number }: { number: number }) {
  const text = t.value.own;
  const document = state.ownDocument.value;
  const { error } = state.ownLive.answer.value;
  const file = state.ownFile.value;
  const refusal = state.ownRefusal.value;
  useEffect(() => void state.readOpened(), []);
  // The engine saw one head of the file: what is saved says which one.
  const { batch, head, row } = state.ownPlace.value;
  const origin = document && file && { ...document, file: file.name, ...(document.select ? { select: { ...document.select, batch, head, row } } : {}) };
  const refused = refusal ? text.problems[refusal.problem](refusal.values) : null;
  return (
    <PartFrame name="own" number={number} title={text.title} lead={<p>{text.lead}</p>} error={refused ?? (file ? error : null)} document={origin}>
      <DropZone label={text.drop} button={text.choose} note={state.ownIsReading.value ? text.reading : text.needs}
        accept=".safetensors,.npz,.json" take={(chosen) => void state.readOwn(chosen)} />
      {file && (
        <div class="own-head">
          <FileLine file={file} />
          <Places />
          <Options document={document} />
          <Progress />
        </div>
      )}
      {file && document && <Head document={document} />}
    </PartFrame>
  );
}
