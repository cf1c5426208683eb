// Directions of the dial in part 1.
import { describe, expect, it } from 'vitest';
import { arrow, directionTo, snapped, turnBetween, turnedByKey, wrapped } from '../src/model/direction';

describe('a direction', () => {
  it('is a whole number of degrees from 0 to 359', () => {
    expect([0, 359.6, -1, 725.2, -360].map(wrapped)).toEqual([0, 0, 359, 5, 0]);
  });

  it('read back from the place where its arrow ends is itself, all the way round', () => {
    const centre = { x: 100, y: 80 };
    for (let degrees = 0; degrees < 360; ++degrees) {
      const end = arrow(degrees, 50);
      expect(directionTo(centre, { x: centre.x + end.x, y: centre.y - end.y })).toBe(degrees);
    }
  });

  it('snaps to a mark within reach, also across 0, and to none beyond', () => {
    expect(snapped(33, [30, 120], 3)).toBe(30);
    expect(snapped(34, [30, 120], 3)).toBe(34);
    expect(snapped(358, [0], 3)).toBe(0);
  });

  it('turns the short way round', () => {
    expect(turnBetween(350, 10)).toBe(20);
    expect(turnBetween(10, 350)).toBe(-20);
    expect(turnBetween(0, 180)).toBe(180);
  });

  it('turns by keys, and by no other key', () => {
    expect(turnedByKey(0, 'ArrowRight', false)).toBe(359);
    expect(turnedByKey(0, 'ArrowUp', true)).toBe(15);
    expect(turnedByKey(90, 'PageDown', false)).toBe(75);
    expect(turnedByKey(90, 'Home', false)).toBe(0);
    expect(turnedByKey(90, 'a', false)).toBeNull();
  });
});
