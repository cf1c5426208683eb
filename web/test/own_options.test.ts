// What the reader chooses in part 9, over what the file says.
import { expect, it } from 'vitest';
import { inEffect, withOptions, type Chosen } from '../src/model/own_options';

const nothing: Chosen = { scale: null, softcap: null, causal: null, corner: null, left: null, right: null };
const file = { q: 1, causal: 'top_left', scale: 0.5, window: [3, -1] };

it('a file is asked for as it is while nothing is chosen', () => {
  expect(withOptions(file, nothing, false)).toEqual(file);
});

it('what is chosen wins, and the rest stays the file\'s', () => {
  expect(withOptions(file, { ...nothing, scale: 1, softcap: 30 }, false)).toEqual({ ...file, scale: 1, softcap: 30 });
  expect(withOptions(file, { ...nothing, right: 0 }, false)).toEqual({ q: 1, scale: 0.5, causal: true, window: [3, 0], corner: 'top_left' });
  expect(withOptions(file, { ...nothing, corner: 'bottom_right' }, false)).toMatchObject({ causal: true, corner: 'bottom_right' });
});

it('a mask can be taken away, and then no corner is named', () => {
  expect(withOptions({ q: 1, causal: true }, { ...nothing, causal: false }, false)).toEqual({ q: 1 });
});

it('a corner is named only where the lengths differ', () => {
  expect(withOptions({ q: 1 }, { ...nothing, causal: true }, true)).toEqual({ q: 1, causal: true });
  expect(withOptions({ q: 1 }, { ...nothing, causal: true }, false)).toEqual({ q: 1, causal: true, corner: 'bottom_right' });
});

it('what is in effect says whether a corner counts', () => {
  expect(inEffect({}, nothing)).toEqual({ isCausal: false, window: [-1, -1], needsCorner: false, corner: null });
  expect(inEffect({ slopes: [1] }, nothing).needsCorner).toBe(true);
  expect(inEffect(file, { ...nothing, left: -1 })).toEqual({ isCausal: true, window: [-1, -1], needsCorner: true, corner: 'top_left' });
});
