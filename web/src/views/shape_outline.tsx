// A matrix of which only the shape stands there.

interface ShapeOutlineProps {
  readonly symbol: string;
  readonly sub?: string;
  readonly dims: readonly [string, string];
  readonly identity?: 'q' | 'k' | 'v';
  readonly note?: string;
  readonly rows?: readonly string[];
  readonly litRow?: number;
}

export function ShapeOutline({ symbol, sub, dims, identity, note, rows = [], litRow }: ShapeOutlineProps) {
  return (
    <figure class={`outline ${identity ? `is-${identity}` : ''}`}>
      <figcaption>
        <span class="grid-symbol">
          {symbol}
          {sub && <sub>{sub}</sub>}
        </span>{' '}
        <span class="grid-shape">
          {dims[0]}×{dims[1]}
        </span>
      </figcaption>
      <div class="outline-box">
        {rows.length === 0 && <span>{note}</span>}
        {rows.map((row, at) => (
          <span key={at} class={at === litRow ? 'is-lit' : ''}>
            {row}
          </span>
        ))}
      </div>
    </figure>
  );
}
