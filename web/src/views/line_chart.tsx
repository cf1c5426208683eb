// Lines over two logarithmic axes, with a mark where one stands.
import { superscript } from '../model/number';

export interface Line {
  readonly name: string;
  readonly identity: 'q' | 'k' | 'v';
  readonly values: readonly number[];
}

interface LogChartProps {
  readonly label: string;
  readonly x: readonly number[]; // rising, above 0
  readonly lines: readonly Line[];
  readonly mark: number;
  readonly xLabel: string;
  readonly yLabel: string;
}

const [WIDTH, HEIGHT, LEFT, FOOT] = [560, 260, 56, 40];
const LEAST = 1e-17; // an error of 0 is drawn here
const power = (value: number) => `10${superscript(Math.round(Math.log10(value)))}`;

export function LogChart({ label, x, lines, mark, xLabel, yLabel }: LogChartProps) {
  const all = lines.flatMap((line) => line.values).filter((value) => Number.isFinite(value) && value > 0);
  const low = Math.floor(Math.log10(Math.max(LEAST, Math.min(1e-12, ...all))));
  const high = Math.ceil(Math.log10(Math.max(1e-3, ...all)));
  const [first = 1e-13, last = 1] = [x[0], x.at(-1)];
  const toX = (value: number) => LEFT + (Math.log10(value / first) / Math.log10(last / first)) * (WIDTH - LEFT);
  const toY = (value: number) => ((high - Math.log10(Math.max(value, 10 ** low))) / (high - low)) * HEIGHT;
  const decades = (from: number, to: number, by: number) =>
    Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, index) => 10 ** (from + index * by));
  return (
    <svg class="chart" viewBox={`0 0 ${WIDTH} ${HEIGHT + FOOT}`} role="img" aria-label={label}>
      {decades(low, high, 3).map((value) => (
        <g key={value}>
          <line class="chart-axis" x1={LEFT} x2={WIDTH} y1={toY(value)} y2={toY(value)} />
          <text x={LEFT - 6} y={toY(value) + 4} text-anchor="end">
            {power(value)}
          </text>
        </g>
      ))}
      {decades(Math.round(Math.log10(first)), Math.round(Math.log10(last)), 3).map((value) => (
        <text key={value} x={toX(value)} y={HEIGHT + 16} text-anchor="middle">
          {power(value)}
        </text>
      ))}
      <line class="chart-mark" x1={toX(mark)} x2={toX(mark)} y1={0} y2={HEIGHT} />
      {lines.map((line) => (
        <polyline key={line.name} class={`chart-line is-${line.identity}`}
          points={line.values.map((value, index) => `${toX(x[index] ?? first)},${toY(value)}`).join(' ')} />
      ))}
      <Legend lines={lines} />
      <text x={WIDTH} y={HEIGHT + 34} text-anchor="end">
        {xLabel}
      </text>
      <text x={LEFT} y={-8}>
        {yLabel}
      </text>
    </svg>
  );
}

const STEP = 64; // from one name to the next

/** The names of the lines, above them: at their ends they would lie on each other. */
function Legend({ lines }: Pick<LogChartProps, 'lines'>) {
  return (
    <g aria-hidden="true" transform={`translate(${WIDTH - STEP * lines.length} -12)`}>
      {lines.map((line, at) => (
        <g key={line.name} transform={`translate(${STEP * at} 0)`}>
          <line class={`chart-line is-${line.identity}`} x1={0} x2={20} y1={0} y2={0} />
          <text x={26} y={4}>
            {line.name}
          </text>
        </g>
      ))}
    </g>
  );
}
