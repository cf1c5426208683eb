// What is on the screen as text files, with where it came from.
import type { Json } from '../source/source';

export interface Provenance {
  readonly engine: string; // "qkv 0.1.0"
  readonly part: string;
  readonly address: string;
  readonly problem?: string;
  /** The options as the engine used them, and where the document looks. */
  readonly options?: Json;
  readonly select?: Json;
  readonly file?: string; // the reader's own
  readonly made: string; // ISO 8601
}

export type Entry = number | string;

export interface TableOf {
  readonly name: string;
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly values: readonly (readonly Entry[])[];
}

function quoted(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const written = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : String(value));

/** RFC 4180, with the provenance as comment lines before it; numbers at full precision with a decimal point. */
export function toCsv(table: TableOf, from: Provenance): string {
  const head = Object.entries(from).map(([name, value]) => `# ${name}: ${written(value)}`);
  const columns = [quoted(table.name), ...(table.values[0] ?? []).map((_, j) => quoted(table.columns[j] ?? String(j)))];
  const rows = table.values.map((row, i) => [quoted(table.rows[i] ?? String(i)), ...row.map((one) => quoted(String(one)))].join(','));
  return [...head, columns.join(','), ...rows, ''].join('\n');
}

const encoded = (value: Entry): Entry => (typeof value === 'string' || Number.isFinite(value) ? value : String(value));

/** Numbers at full precision; −∞ and NaN as the texts that the engine's documents use. */
export function toJson(table: TableOf, from: Provenance): string {
  const values = table.values.map((row) => row.map(encoded));
  return `${JSON.stringify({ provenance: from, ...table, values }, null, 1)}\n`;
}

/** "qkv_bank_A.svg" */
export function fileName(part: string, name: string, ending: string): string {
  return `qkv_${part}_${name.replace(/[^\p{L}\p{N}]+/gu, '_').replace(/^_|_$/g, '')}.${ending}`;
}
