// Numbers as people write and read them: both decimal marks in, the language's own out.
import type { Language } from './document';

const MINUS = '\u2212';

/** The number that a text is, or null: "0.5", "0,5", "-.5", "−2", "1e-3", "1/3". */
export function parseNumber(text: string): number | null {
  const plain = text.trim().replaceAll(MINUS, '-').replace(',', '.');
  const fraction = /^([+-]?[\d.]+)\s*\/\s*(\d+)$/.exec(plain);
  if (fraction) return finite(Number(fraction[1]) / Number(fraction[2]));
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? finite(Number(plain)) : null;
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

function inLanguage(text: string, language: Language): string {
  const marked = language === 'pt' ? text.replace('.', ',') : text;
  return marked.replaceAll('-', MINUS);
}

/** With a fixed number of decimals; very small and very large ones by powers of ten. */
export function formatNumber(value: number, language: Language, decimals = 2): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : `${MINUS}∞`;
  const size = Math.abs(value);
  if (size >= 1e6) return inLanguage(value.toExponential(1), language);
  const fixed = value.toFixed(decimals);
  // "−0.00" would tell of a sign that nobody can see.
  return inLanguage(Number(fixed) === 0 ? fixed.replace('-', '') : fixed, language);
}

/** As short as it can be said exactly to `digits` significant digits: 0.5, 2, 0.0321, 1.5·10⁻⁹. */
export function formatShort(value: number, language: Language, digits = 3): string {
  if (!Number.isFinite(value)) return formatNumber(value, language);
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-3 || size >= 1e6)) {
    const [mantissa = '', exponent = ''] = value.toExponential(digits - 1).split('e');
    return inLanguage(`${Number(mantissa)}·10`, language) + superscript(Number(exponent));
  }
  return inLanguage(String(Number(value.toPrecision(digits))), language);
}

/** The whole number, for a field that edits it. */
export function formatExact(value: number, language: Language): string {
  return inLanguage(String(value), language);
}

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';

export function superscript(value: number): string {
  const digits = [...String(Math.abs(value))].map((digit) => SUPERSCRIPTS[Number(digit)]).join('');
  return (value < 0 ? '⁻' : '') + digits;
}
