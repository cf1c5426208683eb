// A number that is being edited in place. Every key press that leaves a number is used at once; a bad entry is marked
// and the last good value stays in use. What ends as no number leaves the value that was there before.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatExact, parseNumber } from '../model/number';
import { language } from '../model/view_state';

interface CellInputProps {
  readonly value: number;
  readonly label: string;
  /** What was typed to begin; null: the value is shown, selected. */
  readonly first: string | null;
  readonly change: (value: number) => void;
  /** `key` is what ended it: Enter, Escape, Tab or "" for a lost focus. */
  readonly finish: (key: string) => void;
}

export function CellInput({ value, label, first, change, finish }: CellInputProps) {
  const [text, setText] = useState(first ?? formatExact(value, language.value));
  const before = useRef(value);
  const field = useRef<HTMLInputElement>(null);
  const use = (typed: string) => {
    setText(typed);
    const number = parseNumber(typed);
    if (number !== null) change(number);
  };
  useLayoutEffect(() => {
    field.current?.focus();
    if (first === null) field.current?.select();
    else use(first);
  }, []);
  const isBad = parseNumber(text) === null;
  return (
    <input
      ref={field}
      class="cell-input"
      type="text"
      inputMode="decimal"
      size={Math.max(3, text.length)}
      value={text}
      aria-label={label}
      aria-invalid={isBad}
      onInput={(event) => use(event.currentTarget.value)}
      onBlur={() => {
        if (isBad) change(before.current);
        finish('');
      }}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Escape' || (event.key === 'Enter' && isBad)) change(before.current);
        if (event.key === 'Enter' || event.key === 'Escape') finish(event.key);
      }}
    />
  );
}
