// Where a file is dropped, or chosen by keyboard.
import { useRef, useState } from 'preact/hooks';

interface DropZoneProps {
  readonly label: string;
  readonly button: string;
  readonly note: string;
  readonly accept: string;
  readonly take: (file: File) => void;
}

export function DropZone({ label, button, note, accept, take }: DropZoneProps) {
  const [isOver, setOver] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  return (
    <div
      class={isOver ? 'drop is-over' : 'drop'}
      data-testid="drop"
      onDragOver={(event) => (event.preventDefault(), setOver(true))}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const file = event.dataTransfer?.files[0];
        if (file) take(file);
      }}
    >
      <p>{label}</p>
      <input
        ref={field}
        hidden // its button stands for it
        type="file"
        accept={accept}
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          event.currentTarget.value = ''; // the same file may be chosen again
          if (file) take(file);
        }}
      />
      <button type="button" onClick={() => field.current?.click()}>
        {button}
      </button>
      <p class="quiet-text">{note}</p>
    </div>
  );
}
