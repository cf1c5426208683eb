// How values of a kind are written in the page's address.

export interface Codec<T> {
  encode(value: T): string;
  /** Null for a text that is no such value: the default is used then. */
  decode(text: string): T | null;
}

export function choice<const T extends string>(...all: readonly T[]): Codec<T> {
  return { encode: (value) => value, decode: (text) => all.find((one) => one === text) ?? null };
}

export function integer(least: number, most: number): Codec<number> {
  return {
    encode: String,
    decode: (text) => {
      const value = Number(text);
      return /^-?\d+$/.test(text) && value >= least && value <= most ? value : null;
    },
  };
}

export function real(least = -Infinity, most = Infinity): Codec<number> {
  return {
    encode: String,
    decode: (text) => {
      const value = Number(text);
      return text.trim() !== '' && Number.isFinite(value) && value >= least && value <= most ? value : null;
    },
  };
}

export const flag: Codec<boolean> = {
  encode: (value) => (value ? '1' : '0'),
  decode: (text) => (text === '1' ? true : text === '0' ? false : null),
};

export const text: Codec<string> = { encode: (value) => value, decode: (value) => value };

/** A matrix of fixed size: rows by ";", entries by ",". */
export function table(rows: number, columns: number): Codec<readonly (readonly number[])[]> {
  return {
    encode: (value) => value.map((row) => row.join(',')).join(';'),
    decode: (written) => {
      const read = written.split(';').map((row) => row.split(',').map((entry) => (entry === '' ? NaN : Number(entry))));
      const fits = read.length === rows && read.every((row) => row.length === columns && row.every(Number.isFinite));
      return fits ? read : null;
    },
  };
}

/** A value or none: an empty text. */
export function optional<T>(codec: Codec<T>): Codec<T | null> {
  return {
    encode: (value) => (value === null ? '' : codec.encode(value)),
    decode: (written) => (written === '' ? null : codec.decode(written)),
  };
}
