// A histogram with its middle at 0, and marks where one standard deviation should end.

interface HistogramProps {
  readonly label: string;
  readonly edges: readonly number[];
  readonly counts: readonly number[];
  /** Marked on both sides of 0. */
  readonly deviation: number;
  readonly deviationLabel: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly format: (value: number) => string;
}

const [WIDTH, HEIGHT, FOOT] = [440, 160, 38];

export function Histogram({ label, edges, counts, deviation, deviationLabel, xLabel, yLabel, format }: HistogramProps) {
  const [least = -1, most = 1] = [edges[0], edges.at(-1)];
  const tallest = Math.max(1, ...counts);
  const x = (value: number) => ((value - least) / (most - least)) * WIDTH;
  return (
    <svg class="chart" viewBox={`0 0 ${WIDTH} ${HEIGHT + FOOT}`} role="img" aria-label={label}>
      {counts.map((count, bin) => {
        const height = (count / tallest) * (HEIGHT - 16);
        return (
          <rect key={bin} class="chart-bar" x={x(edges[bin] ?? 0) + 0.5} width={Math.max(1, WIDTH / counts.length - 1)}
            y={HEIGHT - height} height={height} />
        );
      })}
      <line class="chart-axis" x1={0} x2={WIDTH} y1={HEIGHT} y2={HEIGHT} />
      {[-deviation, deviation].map((value) => (
        <line key={value} class="chart-mark" x1={x(value)} x2={x(value)} y1={4} y2={HEIGHT} />
      ))}
      {deviation < most && (
        <text class="chart-note" x={x(deviation) + 5} y={14}>
          {deviationLabel.split('_').map((part, at) => (
            <tspan key={at} {...(at > 0 ? { dy: 3, 'font-size': 9 } : {})}>
              {part}
            </tspan>
          ))}
        </text>
      )}
      <text x={0} y={2}>
        {yLabel}
      </text>
      <text x={WIDTH / 2} y={HEIGHT + 34} text-anchor="middle">
        {xLabel}
      </text>
      <text x={0} y={HEIGHT + 16}>
        {format(least)}
      </text>
      <text x={WIDTH / 2} y={HEIGHT + 16} text-anchor="middle">
        {format(0)}
      </text>
      <text x={WIDTH} y={HEIGHT + 16} text-anchor="end">
        {format(most)}
      </text>
    </svg>
  );
}
