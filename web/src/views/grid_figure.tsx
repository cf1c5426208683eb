// What stands around a matrix: its letter, its shape, the button that saves it, and the scale of its colours.
import type { ComponentChildren } from 'preact';
import type { Scale } from '../model/colour';
import { formatNumber } from '../model/number';
import { tablePicture, type Look } from '../model/table_picture';
import { language } from '../model/view_state';
import { ColourBar } from './colour_bar';
import type { Subject } from './save';
import { SaveButton } from './save_menu';

interface GridFigureProps {
  readonly symbol: string;
  readonly label: string;
  readonly note: string | undefined;
  readonly shape: string;
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly values: readonly (readonly number[])[];
  readonly scale: Scale | undefined;
  readonly most: number;
  readonly decimals: number;
  readonly identity: 'q' | 'k' | 'v' | undefined;
  readonly isMasked: ((row: number, column: number) => boolean) | undefined;
  readonly isClipped: (value: number) => boolean;
  readonly children: ComponentChildren;
}

export function GridFigure(props: GridFigureProps) {
  const { symbol, rows, columns, values, scale, most, isMasked, isClipped } = props;
  const subject = (): Subject => {
    const table = { name: symbol, rows, columns, values };
    const look: Look = {
      most,
      isClipped,
      text: (value) => (typeof value === 'string' ? value : formatNumber(value, language.peek(), props.decimals)),
      ...(scale ? { scale } : {}),
      ...(isMasked ? { isMasked } : {}),
    };
    return { table, picture: (from) => tablePicture(table, from, look) };
  };
  const hasClipped = scale !== undefined && values.some((row) => row.some(isClipped));
  const hasMasked = isMasked !== undefined && values.some((row, i) => row.some((_, j) => isMasked(i, j)));
  return (
    <figure class={`grid-figure ${props.identity ? `is-${props.identity}` : ''} ${columns.length > 0 ? 'has-heads' : ''}`}>
      <figcaption>
        <span class="grid-symbol">{symbol}</span> <span class="grid-shape">{props.shape}</span>
        {props.note && <span class="grid-note">{props.note}</span>}
        <SaveButton name={symbol} subject={subject} />
      </figcaption>
      {props.children}
      {scale && most > 0 && <ColourBar scale={scale} most={most} label={`${symbol}: ${props.label}`} hasMasked={hasMasked} hasClipped={hasClipped} isSmall />}
    </figure>
  );
}
