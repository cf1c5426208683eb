// Part 3: a head by hand. Every number can be edited; the four steps follow at each key press.
import type { Document } from '../model/document';
import { matrix, rowOf } from '../model/document';
import { formatNumber } from '../model/number';
import { language } from '../model/view_state';
import { t } from '../messages';
import { MatrixGrid } from '../views/matrix_grid';
import { PartFrame } from '../views/part_frame';
import { Choice } from '../views/switch';
import { Step } from '../views/step';
import { bankLink, bankLive, bankRow, bankTensors, bankWords, setEntry, setRow } from './bank_state';

const number = (value: number) => formatNumber(value, language.value);

function Inputs() {
  const text = t.value.bank;
  const tokens = bankWords.tokens[language.value];
  const axes = bankWords.axes[language.value];
  return (
    <div class="matrices">
      <MatrixGrid symbol="Q" label={text.query} rows={tokens} values={bankTensors.q.value} identity="q" rowAxis="query"
        link={bankLink} litRow={bankRow.value} edit={(i, j, value) => setEntry('q', i, j, value)} decimals={1} dims={['Tq', 'D']} />
      <MatrixGrid symbol="K" label={text.keys} rows={tokens} values={bankTensors.k.value} identity="k" rowAxis="key"
        link={bankLink} edit={(i, j, value) => setEntry('k', i, j, value)} decimals={1} dims={['Tk', 'D']} />
      <MatrixGrid symbol="V" label={text.values} rows={tokens} columns={axes} values={bankTensors.v.value} identity="v" rowAxis="key"
        link={bankLink} edit={(i, j, value) => setEntry('v', i, j, value)} decimals={1} dims={['Tk', 'Dv']} />
    </div>
  );
}

function Steps({ document }: { document: Document }) {
  const text = t.value.bank;
  const tokens = bankWords.tokens[language.value];
  const axes = bankWords.axes[language.value];
  const row = document.select.row;
  const asker = tokens[row] ?? '';
  const of = (name: string) => rowOf(matrix(document, name), row);
  const [weights, answer] = [of('p'), of('o')];
  const values = matrix(document, 'v')?.values ?? [];
  const listed = (entries: readonly number[], decimals = 2) => `[${entries.map((one) => formatNumber(one, language.value, decimals)).join(language.value === 'pt' ? '; ' : ', ')}]`;
  const common = { rows: [asker], columns: tokens, rowAxis: 'none', columnAxis: 'key', link: bankLink } as const;
  return (
    <ol class="steps" data-testid="bank-steps">
      <Step number="①" title={text.steps.score} formula={{ tex: 'q \\cdot k_j', spoken: text.spoken.score }} text={text.steps.scoreText}>
        <MatrixGrid {...common} symbol="q·k" label={text.steps.score} values={[of('raw')]} decimals={2} />
      </Step>
      <Step number="②" title={text.steps.scale} formula={{ tex: 's_j = q \\cdot k_j / \\sqrt 2', spoken: text.spoken.scale }} text={text.steps.scaleText}>
        <MatrixGrid {...common} symbol="s" label={text.steps.scale} values={[of('scaled')]} scale="diverging" />
      </Step>
      <Step number="③" title={text.steps.softmax} formula={{ tex: 'a_j = \\frac{e^{s_j}}{\\sum_i e^{s_i}}', spoken: text.spoken.softmax, isTall: true }} text={text.steps.softmaxText}>
        <MatrixGrid {...common} symbol="a" label={text.steps.softmax} values={[weights]} scale="weights" />
      </Step>
      <Step number="④" title={text.steps.mix} formula={{ tex: 'o = \\textstyle\\sum_j a_j v_j', spoken: text.spoken.mix }} text={text.steps.mixText}>
        <p class="sum">
          {weights.map((weight, j) => (
            <span key={j}>
              {j > 0 && ' + '}
              <b>{number(weight)}</b> · {listed(values[j] ?? [], 1)}
            </span>
          ))}
        </p>
        <MatrixGrid rows={[asker]} columns={axes} symbol="o" label={text.answer} values={[answer]} identity="v" />
        <p class="answer" data-testid="bank-answer" aria-live="polite">
          {text.answer}: {listed(answer)}
        </p>
      </Step>
    </ol>
  );
}

function Experiments() {
  const text = t.value.bank;
  const all = [
    { name: text.river, why: text.riverText, run: () => setRow('v', 2, [0, 1]) },
    { name: text.ask, why: text.askText, run: () => setRow('q', bankRow.value, [1, 0]) },
    { name: text.zero, why: text.zeroText, run: () => setRow('q', bankRow.value, [0, 0]) },
  ];
  return (
    <div class="experiments">
      <h3>{text.experiments}</h3>
      <ul>
        {all.map(({ name, why, run }) => (
          <li key={name}>
            <button type="button" onClick={run}>
              {name}
            </button>
            <span>{why}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

export function BankPart({ number: place }: { number: number }) {
  const text = t.value.bank;
  const { document, error } = bankLive.value;
  const tokens = bankWords.tokens[language.value];
  return (
    <PartFrame name="bank" number={place} title={text.title} lead={<p>{text.lead}</p>} error={error} document={document}>
      <Choice
        label={text.asks}
        value={String(bankRow.value)}
        options={tokens.map((token, index) => ({ value: String(index), label: token }))}
        change={(value) => (bankRow.value = Number(value))}
      />
      <Inputs />
      <p class="hint">{t.value.shell.gridHint}</p>
      {document && <Steps document={document} />}
      <Experiments />
    </PartFrame>
  );
}
