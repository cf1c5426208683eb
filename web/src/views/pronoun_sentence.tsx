// A sentence in which a few words can be chosen, and what each asks, advertises and delivers.
import { t } from '../messages';
import { SPEAKERS, speaker } from '../parts/projections_state';

export function PronounSentence() {
  const words = t.value.projections;
  const chosen = words.speakers[speaker.value];
  const parts = [
    { name: words.query, kind: 'q', text: chosen.asks },
    { name: words.keyWord, kind: 'k', text: chosen.advertises },
    { name: words.value, kind: 'v', text: chosen.delivers },
  ];
  return (
    <section class="pronoun">
      <h3>{words.pronounTitle}</h3>
      <p class="hint">{words.pronounText}</p>
      <p class="sentence" role="group" aria-label={words.pronounHint}>
        {words.sentence.map((word, at) => (
          <Word key={at} word={word} at={at} isLast={at === words.sentence.length - 1} />
        ))}
      </p>
      <dl class="speaks" aria-live="polite">
        {parts.map(({ name, kind, text }) => (
          <div key={kind} class={`is-${kind}`}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <p class="hint">{words.inWords}</p>
    </section>
  );
}

function Word({ word, at, isLast }: { readonly word: string; readonly at: number; readonly isLast: boolean }) {
  const name = SPEAKERS.find((one) => t.value.projections.speakers[one].word === at);
  if (!name) return <span>{isLast ? word : ` ${word}`}</span>;
  return (
    <>
      {' '}
      <button type="button" aria-pressed={speaker.value === name} onClick={() => (speaker.value = name)}>
        {word}
      </button>
    </>
  );
}
