// Directions in the plane, in whole degrees counted against the clock: what a dial shows and what a hand sets.

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** The same direction as a whole number from 0 to 359. */
export function wrapped(degrees: number): number {
  return ((Math.round(degrees) % 360) + 360) % 360;
}

/** The arrow of a length that points into a direction; y grows upward. */
export function arrow(degrees: number, length: number): Point {
  const radians = (degrees * Math.PI) / 180;
  return { x: length * Math.cos(radians), y: length * Math.sin(radians) };
}

/** The direction from a centre to a place on a screen, where y grows downward. */
export function directionTo(centre: Point, place: Point): number {
  return wrapped((Math.atan2(centre.y - place.y, place.x - centre.x) * 180) / Math.PI);
}

/** The direction itself, or that of the nearest mark if the mark lies within `reach` degrees. */
export function snapped(degrees: number, marks: readonly number[], reach: number): number {
  const near = marks.find((mark) => Math.abs(turnBetween(degrees, mark)) <= reach);
  return near === undefined ? wrapped(degrees) : wrapped(near);
}

/** How far to turn from one direction to another the short way round: from −180 (not included) to 180. */
export function turnBetween(from: number, to: number): number {
  const turn = wrapped(to - from);
  return turn > 180 ? turn - 360 : turn;
}

const TURNS: Readonly<Record<string, number>> = {
  ArrowRight: -1,
  ArrowUp: 1,
  ArrowLeft: 1,
  ArrowDown: -1,
  PageUp: 15,
  PageDown: -15,
};

/** The direction after a key, or null if the key does not turn. Right and down turn with the clock, as the arrow would. */
export function turnedByKey(degrees: number, key: string, isLarge: boolean): number | null {
  if (key === 'Home') return 0;
  if (key === 'End') return 359;
  const turn = TURNS[key];
  return turn === undefined ? null : wrapped(degrees + turn * (isLarge ? 15 : 1));
}
