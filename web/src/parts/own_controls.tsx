// Part 9, what can be chosen: where one looks, and the options over those of the file.
import type { Document } from '../model/document';
import { formatShort, parseNumber } from '../model/number';
import { language } from '../model/view_state';
import { t } from '../messages';
import { Slider } from '../views/slider';
import { Subscripts } from '../views/subscripts';
import { Choice, Switch } from '../views/switch';
import { TextField } from '../views/text_field';
import * as state from './own_state';

export function FileLine({ file }: { file: NonNullable<typeof state.ownFile.value> }) {
  const text = t.value.own;
  const sizes = state.ownSizes.value;
  return (
    <p class="own-file" data-testid="own-file">
      {sizes ? text.shape(file.name, String(sizes.heads), String(sizes.queries), String(sizes.keys)) : file.name}{' '}
      {state.ownIsOpened.value && <span class="quiet-text">({text.opened(file.name)})</span>}{' '}
      <button type="button" class="quiet" onClick={state.closeOwn}>
        {text.close}
      </button>
    </p>
  );
}

function Index({ label, value, count, change }: { label: string; value: number; count: number; change: (value: number) => void }) {
  return count > 1 ? <Slider label={label} value={value} least={0} most={count - 1} text={String(value)} change={change} /> : null;
}

export function Places() {
  const text = t.value.own;
  const sizes = state.ownSizes.value;
  const { batch, head, row } = state.ownPlace.value;
  if (!sizes) return null;
  return (
    <div class="controls">
      <Index label={text.batch} value={batch} count={sizes.batches} change={(value) => (state.ownBatch.value = value)} />
      <Index label={text.head} value={head} count={sizes.heads} change={(value) => (state.ownHead.value = value)} />
      <Index label={text.row} value={row} count={sizes.queries} change={(value) => (state.ownRow.value = value)} />
    </div>
  );
}

interface OptionProps {
  readonly name: 'scale' | 'softcap' | 'left' | 'right';
  /** What is in effect while the field is empty. */
  readonly usual: string;
  readonly read: (text: string) => number | null;
  readonly write?: (value: number) => string;
}

const OPEN = '∞';
const writeReach = (value: number) => (value === -1 ? OPEN : String(value));
const writeReal = (value: number) => formatShort(value, language.value, 6);

function Option({ name, usual, read, write = writeReal }: OptionProps) {
  const text = t.value.own;
  const chosen = state.ownOptions[name];
  return (
    <label class="own-option">
      <span>{text.options[name]}</span>
      <TextField label={text.options[name]} text={chosen.value === null ? '' : write(chosen.value)}
        placeholder={usual} width={7} read={read} change={(value) => (chosen.value = value)} clear={() => (chosen.value = null)}
        complain={() => text.badOption[name]} />
    </label>
  );
}

/** How far a window reaches: a whole number from 0, or ∞. */
function readReach(typed: string): number | null {
  const plain = typed.trim();
  if (plain === OPEN || plain === '-1') return -1;
  return /^\d{1,6}$/.test(plain) ? Number(plain) : null;
}

function readAbove0(typed: string): number | null {
  const value = parseNumber(typed);
  return value !== null && value > 0 ? value : null;
}

export function Options({ document }: { document: Document | null }) {
  const text = t.value.own;
  const { isCausal, window, needsCorner, corner } = state.ownInEffect.value;
  const sizes = state.ownSizes.value;
  const used = document?.options ?? {};
  const short = (value: unknown) => (typeof value === 'number' ? formatShort(value, language.value) : '');
  const { causal, corner: chosenCorner } = state.ownOptions;
  return (
    <fieldset class="own-options">
      <legend>{text.optionsTitle}</legend>
      <Option name="scale" usual={short(used['scale'])} read={parseNumber} />
      <Option name="softcap" usual={short(used['softcap']) || text.none} read={readAbove0} />
      <Option name="left" usual={writeReach(window[0])} read={readReach} write={writeReach} />
      <Option name="right" usual={writeReach(window[1])} read={readReach} write={writeReach} />
      <Switch label={text.causal} isOn={isCausal} change={(isOn) => (causal.value = isOn)} />
      {needsCorner && sizes && sizes.queries !== sizes.keys && (
        <Choice label={text.corner} value={corner === 'top_left' ? 'top_left' : 'bottom_right'}
          options={(['top_left', 'bottom_right'] as const).map((value) => ({ value, label: text.corners[value] }))}
          change={(value) => (chosenCorner.value = value)} />
      )}
      <p class="quiet-text">
        <Subscripts text={text.optionsHint} />
      </p>
    </fieldset>
  );
}

/** While the engine computes for long, and after it was stopped. */
export function Progress() {
  const text = t.value.own;
  const progress = state.ownLive.progress.value;
  if (progress === 'none') return null;
  return (
    <p class="own-progress" role="status">
      {progress === 'slow' && <progress aria-hidden="true" />} {progress === 'slow' ? text.computing : text.stopped}{' '}
      <button type="button" class="quiet" onClick={progress === 'slow' ? state.ownLive.stop : state.ownLive.resume}>
        {progress === 'slow' ? text.stop : text.again}
      </button>
    </p>
  );
}
