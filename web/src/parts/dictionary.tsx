// Part 1: a dictionary look-up beside the soft one; the reader turns the question.
import { t } from '../messages';
import { PartFrame } from '../views/part_frame';
import { Curve, DotProducts } from './dictionary_charts';
import { SoftSide } from './dictionary_soft';
import { answer, PLUM, STOCK, turned, turnTo } from './dictionary_state';
import '../style/dictionary.css';

export function DictionaryPart({ number: place }: { number: number }) {
  const words = t.value.dictionary;
  const { document, error } = answer.value;
  return (
    <PartFrame name="dictionary" number={place} title={words.title} lead={<p>{words.lead}</p>} error={error} document={document}>
      <Question />
      <div class="two-dictionaries">
        <HardSide />
        <SoftSide />
      </div>
      <Curve />
      <DotProducts />
    </PartFrame>
  );
}

function Question() {
  const words = t.value.dictionary;
  const places = [...STOCK, { name: 'plum' as const, degrees: PLUM }];
  return (
    <div class="question">
      <div class="question-words" role="group" aria-label={words.ask}>
        <span>{words.ask}</span>
        {places.map(({ name, degrees }) => (
          <button key={name} type="button" aria-pressed={turned.value === degrees} onClick={() => turnTo(degrees)}>
            {words.words[name]}
          </button>
        ))}
      </div>
      <p class="hint">{words.askHint}</p>
    </div>
  );
}

function HardSide() {
  const words = t.value.dictionary;
  const key = STOCK.find(({ degrees }) => degrees === turned.value);
  const missing = turned.value === PLUM ? words.hardMissingPlum : words.hardMissing;
  const stock = STOCK.map(({ name, value }) => `${words.words[name]}: ${value}`).join(', ');
  const asked = key ? words.words[key.name] : turned.value === PLUM ? words.words.plum : '?';
  return (
    <section class="hard-side">
      <h3>{words.hardTitle}</h3>
      <p>{words.hardText}</p>
      <pre class="look-up">
        <code>{`${words.stock} = {${stock}}\n${words.stock}[${asked}]`}</code>
      </pre>
      <p class={key ? 'big-answer' : 'big-answer is-missing'} data-testid="hard-answer" aria-live="polite">
        {key ? key.value : missing}
      </p>
      <p class="hint">{key ? words.hardFound(words.words[key.name], String(key.value)) : words.hardNear}</p>
    </section>
  );
}
