// One number for each row of a matrix, as a strip of bars beside each other.

interface RowBarsProps {
  readonly label: string;
  readonly values: readonly number[];
  readonly most: number;
  /** The most as text, at the top of the axis. */
  readonly mostText: string;
  readonly lit: number | undefined;
}

const [WIDTH, HEIGHT, LEFT] = [440, 56, 34];

export function RowBars({ label, values, most, mostText, lit }: RowBarsProps) {
  const width = (WIDTH - LEFT) / Math.max(1, values.length);
  return (
    <svg class="chart" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      {values.map((value, row) => {
        const height = most > 0 ? Math.min(1, value / most) * (HEIGHT - 2) : 0;
        return (
          <rect key={row} class={row === lit ? 'chart-bar is-lit' : 'chart-bar'} x={LEFT + row * width + 0.5}
            width={Math.max(1, width - 1)} y={HEIGHT - 1 - height} height={height} />
        );
      })}
      <line class="chart-axis" x1={LEFT} x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
      <line class="chart-axis" x1={LEFT} x2={WIDTH} y1={1} y2={1} />
      <text x={LEFT - 8} y={HEIGHT - 0.5} text-anchor="end" dominant-baseline="middle">
        0
      </text>
      <text x={LEFT - 8} y={1} text-anchor="end" dominant-baseline="middle">
        {mostText}
      </text>
    </svg>
  );
}
