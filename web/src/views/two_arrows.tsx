// Two arrows from one point and, below them, what their dot product is.
import { arrow } from '../model/direction';

interface TwoArrowsProps {
  /** Directions of the query's arrow and of the key's. */
  readonly query: number;
  readonly target: number;
  readonly caption: string;
  /** The dot product as text, or an empty text while it is not known. */
  readonly value: string;
  readonly label: string;
}

export function TwoArrows(props: TwoArrowsProps) {
  return (
    <figure class="two-arrows">
      <svg viewBox="-52 -50 104 62" role="img" aria-label={props.label}>
        <Arrow degrees={props.target} kind="key" />
        <Arrow degrees={props.query} kind="query" />
      </svg>
      <figcaption>
        <b>{props.value}</b> {props.caption}
      </figcaption>
    </figure>
  );
}

function Arrow({ degrees, kind }: { readonly degrees: number; readonly kind: 'query' | 'key' }) {
  const end = arrow(degrees, 42);
  return (
    <g class={`arrow-${kind}`}>
      <line x1={0} y1={0} x2={end.x} y2={-end.y} />
      <path d="M9,0 l-11,-5 v10 z" transform={`translate(${end.x} ${-end.y}) rotate(${-degrees})`} />
    </g>
  );
}
