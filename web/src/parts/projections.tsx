// Part 2: query, key and value, and the chain from X to O a matrix at a time on the numbers of part 3.
import { t } from '../messages';
import { matrix, rowOf, type Document } from '../model/document';
import { formatNumber } from '../model/number';
import { language } from '../model/view_state';
import type { Axis } from '../model/link';
import { Math as Formula } from '../views/math';
import { MatrixGrid } from '../views/matrix_grid';
import { PartFrame } from '../views/part_frame';
import { PronounSentence } from '../views/pronoun_sentence';
import { ShapeOutline } from '../views/shape_outline';
import { Choice } from '../views/switch';
import { bankLive } from './bank_state';
import { asker, chainLink, isReached, reached, STEPS, type StepName } from './projections_state';
import '../style/projections.css';

export function ProjectionsPart({ number }: { number: number }) {
  const words = t.value.projections;
  const { document, error } = bankLive.value;
  const lead = (
    <>
      <p>{words.lead}</p>
      <ul class="three-words">
        <li class="is-q"><b>{words.query}</b>: {words.queryText}</li>
        <li class="is-k"><b>{words.keyWord}</b>: {words.keyText}</li>
        <li class="is-v"><b>{words.value}</b>: {words.valueText}</li>
      </ul>
      <p>{words.threeText}</p>
    </>
  );
  return (
    <PartFrame name="projections" number={number} title={words.title} lead={lead} error={error} document={document}>
      <PronounSentence />
      {document && <ChainSection document={document} />}
    </PartFrame>
  );
}

function ChainSection({ document }: { readonly document: Document }) {
  const words = t.value.projections;
  const tokens = document.tokens?.[language.value] ?? [];
  const labels: Record<StepName, string> = { x: 'X', qkv: 'Q K V', s: 'S', a: 'A', o: 'O' };
  return (
    <section class="chain-section">
      <h3>{words.chainTitle}</h3>
      <p class="hint">{words.chainText}</p>
      <div class="chain-controls">
        <Choice
          label={words.pick}
          value={String(asker.value)}
          options={tokens.map((token, row) => ({ value: String(row), label: token }))}
          change={(row) => (asker.value = Number(row))}
        />
        <Choice
          label={words.step}
          value={reached.value}
          options={STEPS.map((value) => ({ value, label: labels[value] }))}
          change={(next) => (reached.value = next)}
        />
      </div>
      <p class="step-said" aria-live="polite" data-testid="projections-step">{words.steps[reached.value]}</p>
      <Chain document={document} tokens={tokens} />
      <p class="chain-said" data-testid="projections-reads">{isReached('a') ? reads(document, tokens) : ''}</p>
      <p class="hint">{words.pickHint}</p>
      <p class="hint">{t.value.shell.linkHint}</p>
    </section>
  );
}

/** "bank reads 0.07 of sat, …" */
function reads(document: Document, tokens: readonly string[]): string {
  const words = t.value.projections;
  const weights = rowOf(matrix(document, 'p'), asker.value);
  const parts = weights.map((weight, key) => words.readsPart(formatNumber(weight, language.value), tokens[key] ?? ''));
  return words.reads(tokens[asker.value] ?? '', parts.join(' + '));
}

function Chain({ document, tokens }: { readonly document: Document; readonly tokens: readonly string[] }) {
  const axes = document.value_axes?.[language.value] ?? [];
  const n = String(tokens.length);
  const words = t.value.projections;
  const grid = (name: string, symbol: string, label: string, options: GridOptions = {}) => (
    <MatrixGrid
      symbol={symbol}
      label={label}
      rows={tokens}
      values={matrix(document, name)?.values ?? []}
      rowAxis="query"
      litRow={options.rowAxis === 'key' ? null : asker.value}
      link={chainLink}
      {...options}
    />
  );
  return (
    <div class="chain">
      <div class="chain-x">
        <ShapeOutline symbol="X" dims={[n, 'C']} rows={tokens} litRow={asker.value} />
      </div>
      {(['q', 'k', 'v'] as const).map((name) => {
        const symbol = name.toUpperCase();
        return (
          <div key={name} class={`chain-line chain-${name} ${isReached('qkv') ? '' : 'is-ahead'} ${isReached(name === 'v' ? 'o' : 's') && name !== 'q' ? 'is-read' : ''}`}>
            <ShapeOutline symbol="W" sub={symbol} dims={['C', '2']} identity={name} note="C×2" />
            <span class="operator" aria-hidden="true">→</span>
            {grid(name, symbol, symbol, { identity: name, decimals: 1, rowAxis: name === 'q' ? 'query' : 'key' })}
          </div>
        );
      })}
      <div class={`chain-s ${isReached('s') ? '' : 'is-ahead'}`}>
        <Formula tex={'Q K^{\\mathsf T} / \\sqrt 2'} spoken={words.spoken.s} />
        {grid('scaled', 'S', words.steps.s, { columns: tokens, columnAxis: 'key', scale: 'diverging' })}
      </div>
      <div class={`chain-a ${isReached('a') ? '' : 'is-ahead'}`}>
        <Formula tex={'\\operatorname{softmax}(S)'} spoken={words.spoken.a} />
        {grid('p', 'A', words.steps.a, { columns: tokens, columnAxis: 'key', scale: 'weights' })}
      </div>
      <div class={`chain-o ${isReached('o') ? '' : 'is-ahead'}`}>
        <Formula tex="A V" spoken={words.spoken.o} />
        {grid('o', 'O', words.steps.o, { columns: axes, identity: 'v' })}
      </div>
    </div>
  );
}

interface GridOptions {
  readonly identity?: 'q' | 'k' | 'v';
  readonly decimals?: number;
  readonly rowAxis?: Axis;
  readonly columnAxis?: Axis;
  readonly columns?: readonly string[];
  readonly scale?: 'weights' | 'diverging';
}
