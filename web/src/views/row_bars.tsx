// One number for each row of a matrix, as a strip of bars beside each other.

interface RowBarsProps {
  readonly label: string;
  readonly values: readonly number[];
  readonly most: number;
  readonly lit: number | undefined;
}

const HEIGHT = 56;

export function RowBars({ label, values, most, lit }: RowBarsProps) {
  const width = 440 / Math.max(1, values.length);
  return (
    <svg class="chart" viewBox={`0 0 440 ${HEIGHT}`} role="img" aria-label={label}>
      {values.map((value, row) => {
        const height = most > 0 ? Math.min(1, value / most) * (HEIGHT - 2) : 0;
        return (
          <rect key={row} class={row === lit ? 'chart-bar is-lit' : 'chart-bar'} x={row * width + 0.5}
            width={Math.max(1, width - 1)} y={HEIGHT - 1 - height} height={height} />
        );
      })}
      <line class="chart-axis" x1={0} x2={440} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
    </svg>
  );
}
