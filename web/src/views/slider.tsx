// A labelled slider with its value beside it.
import { useId } from 'preact/hooks';
import { Subscripts } from './subscripts';

interface SliderProps {
  readonly label: string;
  readonly value: number;
  readonly least: number;
  readonly most: number;
  readonly step?: number;
  /** The value in words, for the eye and for a screen reader. */
  readonly text: string;
  readonly change: (value: number) => void;
}

export function Slider({ label, value, least, most, step = 1, text, change }: SliderProps) {
  const id = useId();
  return (
    <span class="slider">
      <label for={id}>
        <Subscripts text={label} />
      </label>
      <input
        id={id}
        type="range"
        min={least}
        max={most}
        step={step}
        value={value}
        aria-valuetext={text}
        onInput={(event) => change(event.currentTarget.valueAsNumber)}
      />
      <output for={id}>{text}</output>
    </span>
  );
}
