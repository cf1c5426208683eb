// Numbers come in with either decimal mark and go out in the reader's language.
import { describe, expect, it } from 'vitest';
import { formatNumber, formatShort, parseNumber } from '../src/model/number';

describe('parseNumber', () => {
  it('takes a point, a comma, a real minus and powers of ten alike', () => {
    expect(['0.5', '0,5', ',5', ' 0.5 ', '5e-1', '1/2'].map(parseNumber)).toEqual([0.5, 0.5, 0.5, 0.5, 0.5, 0.5]);
    expect(parseNumber('−2')).toBe(-2);
  });

  it('refuses what is no finite number', () => {
    for (const text of ['', 'banana', '1,000,000', '1.2.3', '--1', 'NaN', 'Infinity', '1e999', '0x10', '1/0'])
      expect(parseNumber(text), text).toBeNull();
  });
});

describe('formatNumber', () => {
  it('uses the decimal mark of the language and a real minus', () => {
    expect(formatNumber(-0.5, 'en')).toBe('−0.50');
    expect(formatNumber(-0.5, 'pt')).toBe('−0,50');
  });

  it('never shows the sign of a number that rounds to zero', () => {
    expect(formatNumber(-0.001, 'en')).toBe('0.00');
  });

  it('says what is infinite or not a number', () => {
    expect([-Infinity, Infinity, NaN].map((value) => formatNumber(value, 'en'))).toEqual(['−∞', '∞', 'NaN']);
  });
});

describe('formatShort', () => {
  it('writes very small numbers by powers of ten', () => {
    expect(formatShort(2.06e-9, 'en')).toBe('2.06·10⁻⁹');
    expect(formatShort(1.5e-9, 'pt')).toBe('1,5·10⁻⁹');
  });
});
