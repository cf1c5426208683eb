// One entry of a matrix: its number on its colour, or the field in which it is edited. Drawn again only when something of
// it has changed: an edit touches few of the cells on the screen.
import { Component } from 'preact';
import { colourOf, inkOn, type Scale } from '../model/colour';
import { CellInput } from './cell_input';

export interface Editor {
  readonly first: string | null;
  readonly label: string;
  readonly change: (value: number) => void;
  readonly finish: (key: string) => void;
}

interface MatrixCellProps {
  readonly value: number;
  readonly text: string;
  readonly scale: Scale | undefined;
  readonly most: number;
  readonly isMasked: boolean;
  readonly isClipped: boolean;
  readonly isStop: boolean; // where Tab enters the grid
  readonly isLit: boolean;
  readonly isPinned: boolean;
  readonly isCompared: boolean;
  readonly editor: Editor | null;
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

export class MatrixCell extends Component<MatrixCellProps> {
  override shouldComponentUpdate(next: MatrixCellProps): boolean {
    return (Object.keys(next) as (keyof MatrixCellProps)[]).some((name) => !Object.is(next[name], this.props[name]));
  }

  render(props: MatrixCellProps) {
    const colour = props.scale && !props.isMasked ? colourOf(props.value, props.scale, props.most) : '';
    const style = colour.startsWith('rgb') ? { backgroundColor: colour, color: inkOn(colour) } : undefined;
    return (
      <td role="gridcell" class={classOf(props)} tabIndex={props.isStop && !props.editor ? 0 : -1} style={style}>
        {props.editor ? <CellInput value={props.value} {...props.editor} /> : props.text}
      </td>
    );
  }
}
