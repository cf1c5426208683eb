// What two dictionaries answer, all the way round: the soft one a smooth curve, the hard one single points.

interface AnswerCurveProps {
  readonly around: readonly number[]; // degrees
  readonly answers: readonly number[];
  readonly points: readonly { readonly degrees: number; readonly value: number; readonly name: string }[];
  readonly at: { readonly degrees: number; readonly value: number };
  readonly label: string;
  readonly soft: string;
  readonly hard: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly text: (value: number) => string;
}

const BOX = { left: 46, right: 16, top: 18, bottom: 44, width: 720, height: 230 };
const RANGE = { least: 2, most: 8 }; // of the answer: between the smallest and the largest value, with some air

const x = (degrees: number) => BOX.left + (degrees / 360) * (BOX.width - BOX.left - BOX.right);
const y = (value: number) =>
  BOX.height - BOX.bottom - ((value - RANGE.least) / (RANGE.most - RANGE.least)) * (BOX.height - BOX.top - BOX.bottom);

export function AnswerCurve(props: AnswerCurveProps) {
  const path = props.answers.map((value, at) => `${at === 0 ? 'M' : 'L'}${x(props.around[at] ?? 0).toFixed(1)},${y(value).toFixed(1)}`);
  return (
    <svg class="answer-curve" viewBox={`0 0 ${BOX.width} ${BOX.height}`} role="img" aria-label={props.label}>
      <Axes {...props} />
      <path class="curve-soft" d={path.join('')} />
      {props.points.map((point) => (
        <g key={point.name} class="curve-hard">
          <circle cx={x(point.degrees)} cy={y(point.value)} r={5} />
          <text x={x(point.degrees)} y={y(point.value) - 17} text-anchor="middle">
            {point.name}
          </text>
        </g>
      ))}
      <line class="curve-at" x1={x(props.at.degrees)} x2={x(props.at.degrees)} y1={BOX.top} y2={BOX.height - BOX.bottom} />
      {Number.isFinite(props.at.value) && <circle class="curve-here" cx={x(props.at.degrees)} cy={y(props.at.value)} r={7} />}
      <Legend soft={props.soft} hard={props.hard} />
    </svg>
  );
}

function Axes({ xLabel, yLabel, text }: AnswerCurveProps) {
  const bottom = BOX.height - BOX.bottom;
  return (
    <g class="axes" aria-hidden="true">
      {[3, 5, 7].map((value) => (
        <g key={value}>
          <line x1={BOX.left} x2={BOX.width - BOX.right} y1={y(value)} y2={y(value)} />
          <text x={BOX.left - 8} y={y(value)} text-anchor="end" dominant-baseline="middle">
            {text(value)}
          </text>
        </g>
      ))}
      {[0, 90, 180, 270, 360].map((degrees) => (
        <text key={degrees} x={x(degrees)} y={bottom + 16} text-anchor="middle">
          {degrees}
        </text>
      ))}
      <text x={(BOX.left + BOX.width) / 2} y={BOX.height - 6} text-anchor="middle">
        {xLabel}
      </text>
      <text x={4} y={12}>
        {yLabel}
      </text>
    </g>
  );
}

function Legend({ soft, hard }: { readonly soft: string; readonly hard: string }) {
  return (
    <g class="curve-legend" aria-hidden="true" transform={`translate(${BOX.width - 190} 12)`}>
      <path class="curve-soft" d="M0,0 h24" />
      <text x={30} y={4}>
        {soft}
      </text>
      <g class="curve-hard">
        <circle cx={110} cy={0} r={5} />
      </g>
      <text x={122} y={4}>
        {hard}
      </text>
    </g>
  );
}
