// A labelled number that is typed; a bad entry is marked and the last good one stays in use.
import { useId, useState } from 'preact/hooks';
import { formatExact, parseNumber } from '../model/number';
import { language } from '../model/view_state';

interface NumberFieldProps {
  readonly label: string;
  readonly value: number;
  readonly least?: number;
  readonly most?: number;
  readonly isWhole?: boolean;
  readonly change: (value: number) => void;
}

export function NumberField({ label, value, least = -Infinity, most = Infinity, isWhole, change }: NumberFieldProps) {
  const id = useId();
  const [typed, setTyped] = useState<string | null>(null);
  const good = (text: string): number | null => {
    const number = parseNumber(text);
    const fits = number !== null && number >= least && number <= most && (!isWhole || Number.isInteger(number));
    return fits ? number : null;
  };
  const text = typed ?? formatExact(value, language.value);
  return (
    <span class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        inputMode={isWhole ? 'numeric' : 'decimal'}
        value={text}
        size={6}
        aria-invalid={good(text) === null}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          const number = good(event.currentTarget.value);
          if (number !== null) change(number);
        }}
        onBlur={() => setTyped(null)}
      />
    </span>
  );
}
