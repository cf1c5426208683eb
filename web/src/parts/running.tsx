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

function Chain({ document }: { document: Document }) {
  const text = t.value.running;
  const isMerged = runningHead.value === 'merged';
  const head = isMerged ? 0 : Number(runningHead.value);
  const of = (name: string) => matrix(document, name, head);
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
        <Matrices>
          <Grid found={of('q')} label={text.query} identity="q" />
          <Grid found={of('k')} label={text.keys} identity="k" rowAxis="key" />
          <Grid found={of('v')} label={text.values} identity="v" rowAxis="key" />
        </Matrices>
      </Step>
      <Step number="②" title={text.compare} text={text.compareText}>
        <Grid found={of('masked')} label={text.compare} columnAxis="key" scale="diverging" />
      </Step>
      <Step number="③" title={text.weigh} text={text.weighText}>
        <Grid found={of('p')} label={text.weigh} columnAxis="key" scale="weights" />
        <ColourBar scale="weights" most={1} label={text.legend} hasMasked={runningCausal.value} />
        <Looks document={document} head={head} />
      </Step>
      <Step number="④" title={isMerged ? text.merge : text.mix} text={isMerged ? text.mergeText : text.mixText}>
        <Grid found={of(isMerged ? 'merged' : 'o')} label={text.output} identity="v" />
      </Step>
    </ol>
  );
}

const MOST_NAMED = 2; // as many as the pieces of the verb

function Looks({ document, head }: { document: Document; head: number }) {
  const text = t.value.running;
  const reading = document.reading[document.select.row];
  const token = runningTokens[document.select.row] ?? '';
  if (!reading || head !== document.select.head) return null;
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

function Controls() {
  const text = t.value.running;
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
        <p>{text.causalText}</p>
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
  const weights = document && matrix(document, 'p', runningHead.value === '1' ? 1 : 0);
  return (
    <PartFrame name="running" number={number} title={text.title} lead={<p>{text.lead}</p>} error={error}>
      <Controls />
      {document && stageOf(document, 'p') && <Chain document={document} />}
      {document && weights && (
        <ExportMenu part="running" engine={document.qkv} problem={document.problem} scale="weights"
          table={{ name: 'A', rows: runningTokens, columns: runningTokens, values: weights.values }} />
      )}
    </PartFrame>
  );
}
