// Part 8: the backward pass a matrix at a time, beside central differences.
import cc from '../../../examples/lesson/backward.cc?raw';
import python from '../../../examples/lesson/backward.py?raw';
import { matrix, type Document } from '../model/document';
import { formatShort } from '../model/number';
import { language } from '../model/view_state';
import { t } from '../messages';
import { CodeBlock } from '../views/code_block';
import { MatrixGrid } from '../views/matrix_grid';
import { PartFrame } from '../views/part_frame';
import { Step } from '../views/step';
import { Curve, Differences, Saturation } from './backward_check';
import { backwardAnswer, backwardLink, backwardTensors, setBackward, type BackwardTensor } from './backward_state';

const ROWS = ['1', '2', '3'];
const GIVEN = [
  { name: 'q', symbol: 'Q', axis: 'query', identity: 'q' },
  { name: 'k', symbol: 'K', axis: 'key', identity: 'k' },
  { name: 'v', symbol: 'V', axis: 'key', identity: 'v' },
  { name: 'd_output', symbol: 'dO', axis: 'query', identity: undefined },
] as const satisfies readonly { name: BackwardTensor; symbol: string; axis: string; identity: string | undefined }[];

const STEPS = [
  { name: 'dv', symbol: 'dV', tex: 'dV = A^{\\mathsf T} dO', number: '①', rows: 'key', columns: 'none', identity: 'v' },
  { name: 'dp', symbol: 'dA', tex: 'dA = dO\\, V^{\\mathsf T}', number: '②', rows: 'query', columns: 'key', identity: undefined },
  { name: 'ds', symbol: 'dS', tex: 'dS = A \\odot \\bigl(dA - \\operatorname{rowsum}(dA \\odot A)\\bigr)', number: '③', rows: 'query', columns: 'key', identity: undefined },
  { name: 'dq', symbol: 'dQ', tex: 'dQ = dS\\, K / \\sqrt{d_k}', number: '④', rows: 'query', columns: 'none', identity: 'q' },
  { name: 'dk', symbol: 'dK', tex: 'dK = dS^{\\mathsf T} Q / \\sqrt{d_k}', number: '⑤', rows: 'key', columns: 'none', identity: 'k' },
] as const;

function Given({ document }: { document: Document }) {
  const text = t.value.backward;
  return (
    <section>
      <h3>{text.given}</h3>
      <div class="matrices">
        {GIVEN.map(({ name, symbol, axis, identity }) => (
          <MatrixGrid key={name} symbol={symbol} label={text.inputs[name]} rows={ROWS} values={backwardTensors[name].value}
            rowAxis={axis} link={backwardLink} {...(identity ? { identity } : {})}
            edit={(row, column, value) => setBackward(name, row, column, value)} />
        ))}
      </div>
      <div class="matrices">
        <MatrixGrid symbol="A" label={text.weights} rows={ROWS} columns={ROWS} values={matrix(document, 'p')?.values ?? []}
          rowAxis="query" columnAxis="key" link={backwardLink} scale="weights" />
      </div>
      <p class="hint">{t.value.shell.gridHint}</p>
    </section>
  );
}

function Chain({ document }: { document: Document }) {
  const text = t.value.backward;
  const sums = document.row_sums.find((one) => one.stage === 'ds');
  return (
    <ol class="steps" data-testid="backward-steps">
      {STEPS.map(({ name, symbol, tex, number, rows, columns, identity }) => (
        <Step key={name} number={number} title={text.steps[name].name} formula={{ tex, spoken: text.steps[name].spoken }} text={text.steps[name].why}>
          <MatrixGrid symbol={symbol} label={text.steps[name].name} rows={ROWS} values={matrix(document, name)?.values ?? []}
            {...(columns === 'key' ? { columns: ROWS } : {})} rowAxis={rows} columnAxis={columns} link={backwardLink}
            decimals={3} scale="diverging" {...(identity ? { identity } : {})} />
          {name === 'ds' && sums && (
            <p>
              <span class="badge" data-testid="backward-badge">
                {text.rowSums(formatShort(sums.largest, language.value, 2))}
              </span>{' '}
              {text.rowSumsText}
            </p>
          )}
        </Step>
      ))}
    </ol>
  );
}

export function BackwardPart({ number }: { number: number }) {
  const text = t.value.backward;
  const { document, error } = backwardAnswer.value;
  return (
    <PartFrame name="backward" number={number} title={text.title} lead={<p>{text.lead}</p>} error={error} document={document}>
      {document && (
        <>
          <Given document={document} />
          <Chain document={document} />
          <Differences document={document} />
          <Curve document={document} />
          <Saturation document={document} />
        </>
      )}
      <h3>{text.code}</h3>
      <CodeBlock label="Python" code={python} />
      <CodeBlock label="C++" code={cc} />
    </PartFrame>
  );
}
