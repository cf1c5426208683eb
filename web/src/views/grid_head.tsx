// The name of a row or a column. Where it stands for something that other matrices have too, it can be pointed at and kept.

interface GridHeadProps {
  readonly text: string;
  readonly scope: 'row' | 'col';
  readonly isLit: boolean;
  readonly isPinned: boolean;
  /** Null: it can only be read. */
  readonly act: {
    readonly isStop: boolean; // where Tab enters the grid
    readonly preview: () => void;
    readonly focus: () => void;
    readonly choose: (isCompared: boolean) => void;
  } | null;
}

export function GridHead({ text, scope, isLit, isPinned, act }: GridHeadProps) {
  const marks = `${isLit ? 'is-lit' : ''} ${isPinned ? 'is-pinned' : ''} ${act ? 'is-linked' : ''}`;
  if (!act)
    return (
      <th scope={scope} class={marks}>
        {text}
      </th>
    );
  return (
    <th
      scope={scope}
      class={marks}
      tabIndex={act.isStop ? 0 : -1}
      aria-selected={isPinned}
      onPointerEnter={act.preview}
      onFocus={act.focus}
      onClick={(event) => act.choose(event.shiftKey)}
    >
      {text}
    </th>
  );
}
