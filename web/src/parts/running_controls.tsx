// Part 5, what can be chosen: who asks, the head, the mask and the division.
import { matrix, type Document } from '../model/document';
import { formatNumber } from '../model/number';
import { language } from '../model/view_state';
import { t } from '../messages';
import { Choice, Switch } from '../views/switch';
import { runningCausal, runningDivide, runningHead, runningRow, runningTokens } from './running_state';

const [FIRST, CLIMB] = [0, 2]; // the row and the column that the mask is about

export function Controls({ document }: { document: Document | null }) {
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
