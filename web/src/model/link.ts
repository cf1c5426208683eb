// What is pointed at across the matrices of a part: row i of Q is row i of S, A and O; column j of A is row j of K and V.
import { signal, type Signal } from '@preact/signals';

/** What an axis counts. Only equal axes light each other. */
export type Axis = 'query' | 'key' | 'feature' | 'channel' | 'none';

export interface Place {
  readonly query?: number;
  readonly key?: number;
}

export interface Link {
  readonly hover: Signal<Place | null>; // previewed, by pointer or focus
  readonly pin: Signal<Place | null>; // kept until Esc or another one
  readonly compare: Signal<Place | null>; // shift-click, beside the pinned one
}

export function createLink(): Link {
  return { hover: signal(null), pin: signal(null), compare: signal(null) };
}

export function clearLink(link: Link) {
  link.hover.value = null;
  link.pin.value = null;
  link.compare.value = null;
}

/** What an entry of a matrix whose axes count these things points at; −1 stands for none of an axis. */
export function placeOf(rows: Axis, columns: Axis, row: number, column: number): Place {
  const at = (axis: Axis, index: number): Place =>
    index < 0 ? {} : axis === 'query' ? { query: index } : axis === 'key' ? { key: index } : {};
  return { ...at(rows, row), ...at(columns, column) };
}

/** Whether index `index` of an axis is part of a place. */
export function isOn(place: Place | null, axis: Axis, index: number): boolean {
  return place !== null && ((axis === 'query' && place.query === index) || (axis === 'key' && place.key === index));
}

export function isEmpty(place: Place): boolean {
  return place.query === undefined && place.key === undefined;
}

export function isSame(a: Place | null, b: Place | null): boolean {
  return a?.query === b?.query && a?.key === b?.key;
}

/** A click: pins, or unpins what is pinned; with shift it is compared. */
export function choosePlace(link: Link, place: Place, isCompared: boolean) {
  const target = isCompared ? link.compare : link.pin;
  target.value = isSame(target.peek(), place) ? null : place;
}
