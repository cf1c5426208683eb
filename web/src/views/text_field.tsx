// A text that must be read as something; a bad one is marked, and the last good one stays in use.
import { useState } from 'preact/hooks';

interface TextFieldProps<T> {
  readonly label: string;
  readonly text: string;
  readonly placeholder?: string;
  readonly width: number; // in characters
  readonly read: (text: string) => T | null;
  readonly change: (value: T) => void;
  /** What to do with an empty field; without it an empty field is a bad one. */
  readonly clear?: () => void;
  /** What to say about a bad text. */
  readonly complain: (text: string) => string;
}

export function TextField<T>(props: TextFieldProps<T>) {
  const [typed, setTyped] = useState<string | null>(null);
  const text = typed ?? props.text;
  const isEmpty = text.trim() === '' && props.clear !== undefined;
  const isBad = !isEmpty && props.read(text) === null;
  const use = (next: string) => {
    setTyped(next);
    if (next.trim() === '' && props.clear) return props.clear();
    const value = props.read(next);
    if (value !== null) props.change(value);
  };
  return (
    <span class="text-field">
      <input
        type="text"
        aria-label={props.label}
        value={text}
        placeholder={props.placeholder}
        size={props.width}
        spellcheck={false}
        autocomplete="off"
        aria-invalid={isBad}
        onInput={(event) => use(event.currentTarget.value)}
        onBlur={() => setTyped(null)}
      />
      {isBad && (
        <span class="complaint" role="alert">
          {props.complain(text)}
        </span>
      )}
    </span>
  );
}
