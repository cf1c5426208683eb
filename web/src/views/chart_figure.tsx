// One chart, or a few beside each other, with the button that saves them.
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import type { Provenance, TableOf } from '../model/export';
import { chartPicture } from './chart_picture';
import type { Source } from './provenance';
import { SaveButton } from './save_menu';

interface ChartFigureProps extends TableOf {
  /** Where its numbers come from, if not from the part's own document. */
  readonly document?: Source | null;
  readonly children: ComponentChildren;
}

export function ChartFigure({ name, rows, columns, values, document = null, children }: ChartFigureProps) {
  const place = useRef<HTMLDivElement>(null);
  const subject = () => {
    const charts = [...(place.current?.querySelectorAll<SVGSVGElement>('svg[role]') ?? [])]; // the button's has none
    return { table: { name, rows, columns, values }, picture: (from: Provenance) => chartPicture(charts, name, from) };
  };
  return (
    <div ref={place} class="chart-figure">
      {children}
      <SaveButton name={name} subject={subject} document={document} />
    </div>
  );
}
