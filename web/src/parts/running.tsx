// Part 5: the running example, a whole layer from X to the merged heads, a matrix at a time for every row.
import { matrix, stageOf, type Document } from '../model/document';
import { formatNumber } from '../model/number';
import { language } from '../model/view_state';
import { t } from '../messages';
import { PartFrame } from '../views/part_frame';
import { Step } from '../views/step';
import { Controls } from './running_controls';
import { asColumn, Grid, Matrices, ofHeads, Pairs, Projections } from './running_grids';
import { runningDivide, runningHead, runningLive, runningTokens } from './running_state';

export function RunningPart({ number }: { number: number }) {
  const text = t.value.running;
  const { document, error } = runningLive.value;
  return (
    <PartFrame name="running" number={number} title={text.title} lead={<p>{text.lead}</p>} error={error} document={document}>
      <Controls document={document} />
      <p class="hint">{t.value.shell.linkHint}</p>
      {document && stageOf(document, 'p') && <Chain document={document} />}
    </PartFrame>
  );
}

function Chain({ document }: { document: Document }) {
  const text = t.value.running;
  const isMerged = runningHead.value === 'merged';
  const of = (name: string) => matrix(document, name);
  const product = 'S = Q K^{\\mathsf T}';
  const scores = runningDivide.value
    ? { tex: `${product} / \\sqrt 2`, spoken: text.spoken.divided }
    : { tex: product, spoken: text.spoken.undivided };
  const output = isMerged ? { tex: 'M = [O_1 \\; O_2]', spoken: text.spoken.merge } : { tex: 'O = A V', spoken: text.spoken.mix };
  const outputs = isMerged ? [of('merged')] : ofHeads(document, 'o');
  return (
    <ol class="steps">
      <Step number="0" title={text.norm} formula={{ tex: 'u = (x - \\mu) / \\sigma', spoken: text.spoken.norm }} text={text.normText}>
        <Matrices>
          <Grid found={of('x')} label={text.given} />
          <Grid found={asColumn(of('mean'))} label={text.mean} />
          <Grid found={asColumn(of('sigma'))} label={text.spread} />
          <Grid found={of('u')} label={text.normed} />
        </Matrices>
      </Step>
      <Step number="①" title={text.project} formula={{ tex: 'Q = U W_Q,\\; K = U W_K,\\; V = U W_V', spoken: text.spoken.project }} text={text.projectText}>
        <Projections document={document} />
      </Step>
      <Step number="②" title={text.compare} formula={scores} text={runningDivide.value ? text.compareText : text.undividedText}>
        <Pairs document={document} name="masked" label={text.compare} scale="diverging" />
      </Step>
      <Step number="③" title={text.weigh} formula={{ tex: 'A = \\operatorname{softmax}(S)', spoken: text.spoken.weigh }} text={text.weighText}>
        <Pairs document={document} name="p" label={text.weigh} scale="weights" />
        {!isMerged && <Looks document={document} />}
      </Step>
      <Step number="④" title={isMerged ? text.merge : text.mix} formula={output} text={isMerged ? text.mergeText : text.mixText}>
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
