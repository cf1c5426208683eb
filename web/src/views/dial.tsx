// A dial: keys as fixed arrows, and the question as an arrow that a hand, a key press or a slider turns.
import { arrow, directionTo, snapped, turnedByKey } from '../model/direction';

export interface DialKey {
  readonly name: string;
  readonly degrees: number;
  /** From 0 to 1: how strongly the arrow is drawn. */
  readonly weight: number;
}

interface DialProps {
  readonly degrees: number;
  /** Of the question's arrow, as a part of the radius. */
  readonly reach: number;
  readonly keys: readonly DialKey[];
  /** A direction with a name but without a key. */
  readonly absent: { readonly name: string; readonly degrees: number };
  readonly label: string;
  readonly said: string;
  readonly turn: (degrees: number) => void;
}

const RADIUS = 100;
const SNAP = 3; // degrees; a hand can hold a key exactly, as the hard dictionary wants it

export function Dial(props: DialProps) {
  const { degrees, keys, absent, turn } = props;
  const marks = [...keys.map((key) => key.degrees), absent.degrees];
  const follow = (event: PointerEvent) => {
    const box = (event.currentTarget as SVGElement).getBoundingClientRect();
    const centre = { x: box.left + box.width / 2, y: box.top + box.height / 2 };
    turn(snapped(directionTo(centre, { x: event.clientX, y: event.clientY }), marks, SNAP));
  };
  return (
    <svg
      class="dial"
      viewBox="-150 -150 300 300"
      role="slider"
      tabindex={0}
      aria-label={props.label}
      aria-valuemin={0}
      aria-valuemax={359}
      aria-valuenow={degrees}
      aria-valuetext={props.said}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        event.currentTarget.focus();
        follow(event);
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) follow(event);
      }}
      onKeyDown={(event) => {
        const next = turnedByKey(degrees, event.key, event.shiftKey);
        if (next === null) return;
        event.preventDefault();
        turn(next);
      }}
    >
      <Face />
      <AbsentMark {...absent} />
      {keys.map((key) => (
        <KeyArrow key={key.name} {...key} />
      ))}
      <QuestionArrow degrees={degrees} length={RADIUS * props.reach} />
    </svg>
  );
}

function Face() {
  const ticks = Array.from({ length: 24 }, (_, at) => at * 15);
  return (
    <g class="dial-face" aria-hidden="true">
      <circle r={RADIUS} />
      {ticks.map((degrees) => {
        const outer = arrow(degrees, RADIUS);
        const inner = arrow(degrees, degrees % 90 === 0 ? RADIUS - 8 : RADIUS - 4);
        return <line key={degrees} x1={inner.x} y1={-inner.y} x2={outer.x} y2={-outer.y} />;
      })}
    </g>
  );
}

function KeyArrow({ name, degrees, weight }: DialKey) {
  const end = arrow(degrees, RADIUS);
  const label = arrow(degrees, RADIUS + 18);
  return (
    <g class="dial-key" aria-hidden="true">
      <line x1={0} y1={0} x2={end.x} y2={-end.y} style={{ strokeWidth: `${1.5 + 6 * weight}px` }} />
      <circle cx={end.x} cy={-end.y} r={4} />
      <DialLabel at={label} text={name} />
    </g>
  );
}

function AbsentMark({ name, degrees }: { readonly name: string; readonly degrees: number }) {
  const end = arrow(degrees, RADIUS);
  return (
    <g class="dial-absent" aria-hidden="true">
      <line x1={0} y1={0} x2={end.x} y2={-end.y} />
      <circle cx={end.x} cy={-end.y} r={4} />
      <DialLabel at={arrow(degrees, RADIUS + 18)} text={name} />
    </g>
  );
}

function DialLabel({ at, text }: { readonly at: { x: number; y: number }; readonly text: string }) {
  const anchor = at.x > 30 ? 'start' : at.x < -30 ? 'end' : 'middle';
  return (
    <text x={at.x} y={-at.y} text-anchor={anchor} dominant-baseline="middle">
      {text}
    </text>
  );
}

/** Drawn along the x axis and turned as a whole, so that a jump can be shown as a turn. */
function QuestionArrow({ degrees, length }: { readonly degrees: number; readonly length: number }) {
  const tip = Math.max(length, 14);
  return (
    <g class="dial-question" aria-hidden="true" transform={`rotate(${-degrees})`}>
      <line x1={0} y1={0} x2={tip - 10} y2={0} />
      <path d={`M${tip},0 l-14,-7 v14 z`} />
      <circle class="dial-handle" cx={tip} cy={0} r={16} />
      <circle class="dial-hub" r={4} />
    </g>
  );
}
