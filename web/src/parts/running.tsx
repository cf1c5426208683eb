// Part 5: the running example, a whole layer from X to the merged heads, a matrix at a time for every row.
import type { ComponentChildren } from 'preact';
import { matrix, stageOf, type Document, type Matrix } from '../model/document';
import type { Axis } from '../model/link';
import { formatNumber } from '../model/number';
import { language } from '../model/view_state';
import { t } from '../messages';
import { ColourBar } from '../views/colour_bar';
import { ExportMenu } from '../views/export_menu';
import { MatrixGrid } from '../views/matrix_grid';
import { PartFrame } from '../views/part_frame';
import { Step } from '../views/step';
import { Choice, Switch } from '../views/switch';
import {
  runningCausal,
  runningDivide,
  runningHead,
  runningLink,
  runningLive,
  runningRow,
  runningTokens,
} from './running_state';

/** Means and spreads come as one row; shown as a column, they stand beside the rows that they belong to. */
function asColumn(found: Matrix | undefined): Matrix | undefined {
  return found && { ...found, values: (found.values[0] ?? []).map((value) => [value]) };
}

interface GridProps {
  readonly found: Matrix | undefined;
  readonly label: string;
  readonly rowAxis?: Axis;
  readonly columnAxis?: Axis;
  readonly identity?: 'q' | 'k' | 'v';
  readonly scale?: 'weights' | 'diverging';
}

function Grid({ found, label, rowAxis = 'query', columnAxis = 'none', identity, scale }: GridProps) {
  if (!found) return null;
  const columns = columnAxis === 'key' ? runningTokens : [];
  return (
    <MatrixGrid
      symbol={found.symbol}
      label={label}
      rows={runningTokens}
      columns={columns}
      values={found.values}
      rowAxis={rowAxis}
      columnAxis={columnAxis}
      link={runningLink}
      litRow={rowAxis === 'query' ? runningRow.value : null}
      decimals={columnAxis === 'key' && scale === 'weights' ? 3 : 2}
      isMasked={(row, column) => columnAxis === 'key' && runningCausal.value && found.values[row]?.[column] === (scale === 'weights' ? 0 : -Infinity)}
      {...(identity ? { identity } : {})}
      {...(scale ? { scale } : {})}
    />
  );
}

function Matrices({ children }: { children: ComponentChildren }) {
  return <div class="matrices is-close">{children}</div>;
}

const HEADS = 2;
const SUBSCRIPTS = ['₁', '₂'];

/** A stage of each head that is shown; when both are, their letters bear the head's number. */
function ofHeads(document: Document, name: string): readonly (Matrix | undefined)[] {
  const chosen = runningHead.value;
  if (chosen !== 'merged') return [matrix(document, name, Number(chosen))];
  return Array.from({ length: HEADS }, (_, head) => {
    const found = matrix(document, name, head);
    return found && { ...found, symbol: found.symbol + (SUBSCRIPTS[head] ?? '') };
  });
}

function Projections({ document }: { document: Document }) {
  const text = t.value.running;
  const [queries, keys, values] = ['q', 'k', 'v'].map((name) => ofHeads(document, name));
  return (queries ?? []).map((query, head) => (
    <Matrices key={head}>
      <Grid found={query} label={text.query} identity="q" />
      <Grid found={keys?.[head]} label={text.keys} identity="k" rowAxis="key" />
      <Grid found={values?.[head]} label={text.values} identity="v" rowAxis="key" />
    </Matrices>
  ));
}

function Pairs({ document, name, label, scale }: { document: Document; name: string; label: string; scale: 'weights' | 'diverging' }) {
  return (
    <Matrices>
      {ofHeads(document, name).map((found, head) => (
        <Grid key={head} found={found} label={label} columnAxis="key" scale={scale} />
      ))}
    </Matrices>
  );
}

function Chain({ document }: { document: Document }) {
  const text = t.value.running;
  const isMerged = runningHead.value === 'merged';
  const of = (name: string) => matrix(document, name);
  const outputs = isMerged ? [of('merged')] : ofHeads(document, 'o');
  return (
    <ol class="steps">
      <Step number="0" title={text.norm} text={text.normText}>
        <Matrices>
          <Grid found={of('x')} label={text.given} />
          <Grid found={asColumn(of('mean'))} label={text.mean} />
          <Grid found={asColumn(of('sigma'))} label={text.spread} />
          <Grid found={of('u')} label={text.normed} />
        </Matrices>
      </Step>
      <Step number="①" title={text.project} text={text.projectText}>
        <Projections document={document} />
      </Step>
      <Step number="②" title={text.compare} text={text.compareText}>
        <Pairs document={document} name="masked" label={text.compare} scale="diverging" />
      </Step>
      <Step number="③" title={text.weigh} text={text.weighText}>
        <Pairs document={document} name="p" label={text.weigh} scale="weights" />
        <ColourBar scale="weights" most={1} label={text.legend} hasMasked={runningCausal.value} />
        {!isMerged && <Looks document={document} />}
      </Step>
      <Step number="④" title={isMerged ? text.merge : text.mix} text={isMerged ? text.mergeText : text.mixText}>
        <Grid found={outputs[0]} label={text.output} identity="v" />
      </Step>
    </ol>
  );
}

const MOST_NAMED = 2; // as many as the pieces of the verb

function Looks({ document }: { document: Document }) {
  const text = t.value.running;
  const reading = document.reading[document.select.row];
  const token = runningTokens[document.select.row] ?? '';
  if (!reading) return null;
  const list = reading.keys
    .slice(0, MOST_NAMED)
    .map((key, index) => text.part(runningTokens[key] ?? '', formatNumber(reading.weights[index] ?? NaN, language.value, 2)))
    .join(text.and);
  return (
    <p data-testid="running-looks" aria-live="polite">
      {text.looks(token, list, formatNumber(reading.cumulative[MOST_NAMED - 1] ?? 1, language.value, 2))}
    </p>
  );
}

const [FIRST, CLIMB] = [0, 2]; // the row and the column that the mask is about

function Controls({ document }: { document: Document | null }) {
  const text = t.value.running;
  const ahead = document && matrix(document, 'p', document.select.head)?.values[FIRST]?.[CLIMB];
  const aheadText = formatNumber(ahead ?? NaN, language.value);
  return (
    <div class="controls">
      <Choice
        label={text.row}
        value={String(runningRow.value)}
        options={runningTokens.map((token, index) => ({ value: String(index), label: token }))}
        change={(value) => (runningRow.value = Number(value))}
      />
      <Choice
        label={text.head}
        value={runningHead.value}
        options={[
          { value: '0', label: text.heads.first },
          { value: '1', label: text.heads.second },
          { value: 'merged', label: text.heads.merged },
        ]}
        change={(value) => (runningHead.value = value)}
      />
      <div class="control-with-text">
        <Switch label={text.causal} isOn={runningCausal.value} change={(isOn) => (runningCausal.value = isOn)} />
        {ahead !== undefined && ahead !== null && <p>{runningCausal.value ? text.isCausalText : text.causalText(aheadText)}</p>}
      </div>
      <div class="control-with-text">
        <Switch label={text.divide} isOn={runningDivide.value} change={(isOn) => (runningDivide.value = isOn)} />
        <p>{text.divideText}</p>
      </div>
    </div>
  );
}

export function RunningPart({ number }: { number: number }) {
  const text = t.value.running;
  const { document, error } = runningLive.value;
  return (
    <PartFrame name="running" number={number} title={text.title} lead={<p>{text.lead}</p>} error={error}>
      <Controls document={document} />
      {document && stageOf(document, 'p') && <Chain document={document} />}
      {document &&
        ofHeads(document, 'p').map((found) => found && (
          <ExportMenu key={found.symbol} part="running" engine={document.qkv} problem={document.problem} scale="weights"
            table={{ name: found.symbol, rows: runningTokens, columns: runningTokens, values: found.values }} />
        ))}
    </PartFrame>
  );
}
