// The name of a row or a column. Where it stands for something that other matrices have too, it can be pointed at and kept.

interface GridHeadProps {
  readonly text: string;
  readonly scope: 'row' | 'col';
  readonly isLit?: boolean;
  readonly isPinned: boolean;
  readonly isLinked: boolean;
  readonly isStop: boolean; // where Tab enters the grid
}

export function GridHead({ text, scope, isLit = false, isPinned, isLinked, isStop }: GridHeadProps) {
  const marks = `${isLit ? 'is-lit' : ''} ${isPinned ? 'is-pinned' : ''} ${isLinked ? 'is-linked' : ''}`;
  const reach = isLinked ? { tabIndex: isStop ? 0 : -1, 'aria-selected': isPinned } : {};
  return (
    <th scope={scope} class={marks} {...reach}>
      {text}
    </th>
  );
}
