// A large matrix as a picture: one canvas, one stop for the Tab key, a pixel block for each entry.
import { useEffect, useRef, useState } from 'preact/hooks';
import { colourTable, type Scale } from '../model/colour';
import { movedByKey, type Cell } from '../model/grid_keys';
import { choosePlace, clearLink, placeOf, type Axis, type Link } from '../model/link';
import { announce } from './live_region';

export interface MatrixMapProps {
  readonly label: string;
  readonly values: readonly (readonly number[])[];
  readonly scale: Scale;
  readonly most: number;
  readonly link: Link;
  readonly rowAxis?: Axis;
  readonly columnAxis?: Axis;
  /** What a screen reader is told of an entry. */
  readonly sentence: (row: number, column: number) => string;
  readonly isMasked?: (row: number, column: number) => boolean;
}

/** Draws one pixel for each entry; the browser enlarges it without blur. */
function draw(canvas: HTMLCanvasElement, { values, scale, most, isMasked }: MatrixMapProps) {
  const [rows, columns] = [values.length, values[0]?.length ?? 0];
  canvas.width = Math.max(1, columns);
  canvas.height = Math.max(1, rows);
  const picture = new ImageData(canvas.width, canvas.height);
  const colours = colourTable(scale);
  const last = colours.length / 3 - 1;
  for (let i = 0; i < rows; ++i)
    for (let j = 0; j < columns; ++j) {
      const value = values[i]?.[j] ?? NaN;
      if (isMasked?.(i, j) || !Number.isFinite(value)) continue; // transparent: the hatching behind shows
      const part = Math.max(-1, Math.min(1, most > 0 ? value / most : 0));
      const at = 3 * Math.round((scale === 'weights' ? Math.max(0, part) : (part + 1) / 2) * last);
      const to = 4 * (i * columns + j);
      for (let channel = 0; channel < 3; ++channel) picture.data[to + channel] = colours[at + channel] ?? 0;
      picture.data[to + 3] = 255;
    }
  canvas.getContext('2d')?.putImageData(picture, 0, 0);
}

export function MatrixMap(props: MatrixMapProps) {
  const { label, values, link, sentence, rowAxis = 'query', columnAxis = 'key' } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [at, setAt] = useState<Cell>({ row: 0, column: 0 });
  const [isFocused, setFocused] = useState(false);
  const [rows, columns] = [values.length, values[0]?.length ?? 0];
  useEffect(() => {
    if (canvas.current) draw(canvas.current, props);
  }, [values, props.scale, props.most]);

  const move = (next: Cell) => {
    setAt(next);
    link.hover.value = placeOf(rowAxis, columnAxis, next.row, next.column);
    announce(sentence(next.row, next.column));
  };
  const under = (event: PointerEvent | MouseEvent): Cell => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const part = (offset: number, size: number, count: number) =>
      Math.max(0, Math.min(count - 1, Math.floor((offset / size) * count)));
    return { row: part(event.clientY - box.top, box.height, rows), column: part(event.clientX - box.left, box.width, columns) };
  };
  const press = (event: KeyboardEvent) => {
    const next = movedByKey(at, event.key, event.ctrlKey || event.metaKey, rows, columns);
    if (next) move(next);
    else if (event.key === 'Escape') clearLink(link);
    else if (event.key === 'Enter' || event.key === ' ')
      choosePlace(link, placeOf(rowAxis, columnAxis, at.row, at.column), event.shiftKey);
    else return;
    event.preventDefault();
  };
  const shown = link.hover.value ?? link.pin.value;
  const row = shown?.query;
  const column = shown?.key;
  return (
    <div
      class={isFocused ? 'map is-focused' : 'map'}
      role="application"
      aria-label={`${label}, ${rows}×${columns}. ${sentence(Math.min(at.row, rows - 1), Math.min(at.column, columns - 1))}`}
      tabIndex={0}
      onKeyDown={press}
      onFocus={() => setFocused(true)}
      onBlur={() => setFocused(false)}
      onPointerMove={(event) => {
        const next = under(event);
        link.hover.value = placeOf(rowAxis, columnAxis, next.row, next.column);
      }}
      onPointerLeave={() => (link.hover.value = null)}
      onClick={(event) => {
        const next = under(event);
        setAt(next);
        choosePlace(link, placeOf(rowAxis, columnAxis, next.row, next.column), event.shiftKey);
      }}
    >
      <canvas ref={canvas} aria-hidden="true" />
      {row !== undefined && row < rows && (
        <i class="map-row" style={{ top: `${(100 * row) / rows}%`, height: `${100 / rows}%` }} />
      )}
      {column !== undefined && column < columns && (
        <i class="map-column" style={{ left: `${(100 * column) / columns}%`, width: `${100 / columns}%` }} />
      )}
    </div>
  );
}
