// Shapes as they are typed in part 6 and kept in the address.
import { describe, expect, it } from 'vitest';
import { decodeFound, encodeFound, isSameShape, parseShape, parseSize } from '../src/model/shape_text';

describe('a shape', () => {
  it('is taken in the forms in which programs print it', () => {
    for (const text of ['5, 2', '[5,2]', '(5, 2)', '5×2', '5x2', ' 5 2 ', 'torch.Size([5, 2])'])
      expect(parseShape(text), text).toEqual([5, 2]);
    expect(parseShape('(5,)')).toEqual([5]);
    expect(parseShape('[1,12,1024,64]')).toEqual([1, 12, 1024, 64]);
  });

  it('is refused where it is none', () => {
    for (const text of ['', '[]', 'a, b', '5, -2', '5.5, 2', '0, 2', '1,2,3,4,5', '5,,2', '2000000000, 1'])
      expect(parseShape(text), text).toBeNull();
  });

  it('equals another only axis by axis', () => {
    expect(isSameShape([5, 2], [5, 2])).toBe(true);
    expect(isSameShape([5, 2], [2, 5])).toBe(false);
    expect(isSameShape([5, 2], [1, 5, 2])).toBe(false);
  });
});

describe('a size', () => {
  it('is a whole number from 1 to a thousand million', () => {
    expect(['1', '1 024', '1000000000'].map(parseSize)).toEqual([1, 1024, 1_000_000_000]);
    expect(['0', '-1', '1.5', '1,5', '', '1000000001', 'x'].map(parseSize)).toEqual(Array(7).fill(null));
  });
});

describe('found shapes in an address', () => {
  it('come back as they were', () => {
    const found = { k: [2, 5], merged: [1, 5, 4] };
    expect(decodeFound(encodeFound(found))).toEqual(found);
    expect(encodeFound(found)).toBe('k:2.5~merged:1.5.4');
  });

  it('leave out what is no shape', () => {
    expect(decodeFound('')).toEqual({});
    expect(decodeFound('k:~v~:5.2~q:a.b~s:5.5')).toEqual({ s: [5, 5] });
  });
});
