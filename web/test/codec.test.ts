// What the address says is taken only where it is such a value.
import { describe, expect, it } from 'vitest';
import { choice, flag, integer, real, table } from '../src/model/codec';

describe('codecs', () => {
  it('read back what they write', () => {
    expect(integer(1, 256).decode(integer(1, 256).encode(128))).toBe(128);
    expect(real().decode(real().encode(0.1 + 0.2))).toBe(0.1 + 0.2);
    expect(flag.decode(flag.encode(true))).toBe(true);
    const matrix = [[1, -0.5], [0, 2e-9]];
    expect(table(2, 2).decode(table(2, 2).encode(matrix))).toEqual(matrix);
  });

  it('refuse what is outside, of another shape or no number', () => {
    expect(integer(1, 256).decode('257')).toBeNull();
    expect(integer(1, 256).decode('1.5')).toBeNull();
    expect(real(0).decode('-1')).toBeNull();
    expect(real().decode('')).toBeNull();
    expect(choice('a', 'b').decode('c')).toBeNull();
    expect(table(2, 2).decode('1,2;3')).toBeNull();
    expect(table(2, 2).decode('1,2;3,x')).toBeNull();
    expect(table(2, 2).decode('1,2;3,')).toBeNull();
  });
});
