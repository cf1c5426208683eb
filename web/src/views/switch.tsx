// Something that is on or off, and a choice of one among a few.
import { useId } from 'preact/hooks';
import { Subscripts } from './subscripts';

interface SwitchProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly change: (isOn: boolean) => void;
}

export function Switch({ label, isOn, change }: SwitchProps) {
  return (
    <label class="switch">
      <input type="checkbox" role="switch" checked={isOn} onChange={(event) => change(event.currentTarget.checked)} />
      <span class="switch-track" aria-hidden="true" />
      <span>
        <Subscripts text={label} />
      </span>
    </label>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: readonly { readonly value: T; readonly label: string }[];
  readonly change: (value: T) => void;
}

export function Choice<T extends string>({ label, value, options, change }: ChoiceProps<T>) {
  const name = useId();
  return (
    <fieldset class="choice">
      <legend>{label}</legend>
      <span class="choice-options">
        {options.map((option) => (
          <label key={option.value} class={option.value === value ? 'is-chosen' : ''}>
            <input
              type="radio"
              name={name}
              value={option.value}
              checked={option.value === value}
              onChange={() => change(option.value)}
            />
            <span>{option.label}</span>
          </label>
        ))}
      </span>
    </fieldset>
  );
}
