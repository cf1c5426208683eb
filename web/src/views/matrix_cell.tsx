// One entry of a matrix: its number on its colour, or the field in which it is edited.
import { colourOf, inkOn, type Scale } from '../model/colour';
import { CellInput } from './cell_input';

interface MatrixCellProps {
  readonly value: number;
  readonly text: string;
  readonly label: string;
  readonly scale: Scale | undefined;
  readonly most: number;
  readonly isMasked: boolean;
  readonly isClipped: boolean;
  readonly isStop: boolean; // where Tab enters the grid
  readonly isLit: boolean;
  readonly isPinned: boolean;
  readonly isCompared: boolean;
  readonly editing: { readonly first: string | null } | null;
  readonly enter: () => void;
  readonly focus: () => void;
  readonly choose: (isCompared: boolean) => void;
  readonly change: (value: number) => void;
  readonly finish: (key: string) => void;
}

function classOf(props: MatrixCellProps): string {
  const marks = [
    props.isMasked && 'is-masked',
    props.isLit && 'is-lit',
    props.isPinned && 'is-pinned',
    props.isCompared && 'is-compared',
    props.isClipped && 'is-clipped',
  ];
  return marks.filter(Boolean).join(' ');
}

export function MatrixCell(props: MatrixCellProps) {
  const colour = props.scale && !props.isMasked ? colourOf(props.value, props.scale, props.most) : '';
  const style = colour.startsWith('rgb') ? { backgroundColor: colour, color: inkOn(colour) } : undefined;
  return (
    <td
      role="gridcell"
      class={classOf(props)}
      tabIndex={props.isStop && !props.editing ? 0 : -1}
      style={style}
      onPointerEnter={props.enter}
      onFocus={(event) => event.target === event.currentTarget && props.focus()}
      onClick={(event) => !props.editing && props.choose(event.shiftKey)}
    >
      {props.editing ? (
        <CellInput
          value={props.value}
          label={props.label}
          first={props.editing.first}
          change={props.change}
          finish={props.finish}
        />
      ) : (
        props.text
      )}
    </td>
  );
}
