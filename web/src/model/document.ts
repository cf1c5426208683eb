// The engine's documents (docs/explain.md) by type, and the matrices in them.
import type { Json } from '../source/source';

export type Language = 'en' | 'pt';
export type Words = Readonly<Record<Language, readonly string[]>>;

/** Nested lists of numbers; what JSON cannot say is a text: "-Infinity", "Infinity", "NaN". */
export type Values = number | string | readonly Values[];

export interface Stage {
  readonly name: string;
  readonly symbol: string;
  readonly formula?: string;
  readonly math?: string;
  readonly dims?: readonly string[];
  readonly shape: readonly number[];
  readonly from?: readonly string[];
  readonly values: Values;
}

export interface Reading {
  readonly keys: readonly number[];
  readonly weights: readonly number[];
  readonly cumulative: readonly number[];
}

export interface Difference {
  readonly stage: string;
  readonly input: string;
  readonly max_error: number;
  readonly values: Values;
}

/** What a request is answered with; which fields there are depends on its kind. */
export interface Document {
  readonly qkv: string;
  readonly version: number;
  readonly kind: 'attention' | 'layer' | 'shapes' | 'scores';
  readonly problem: string;
  readonly dims: Readonly<Record<string, number>>;
  readonly options: Readonly<Record<string, Json>>;
  readonly select: {
    readonly row: number;
    readonly head: number;
    readonly kv_head: number;
    readonly batch: number;
    readonly batches: number;
  };
  readonly tokens?: Words;
  readonly key_tokens?: Words;
  readonly value_axes?: Words;
  readonly inputs: readonly Stage[];
  readonly stages: readonly Stage[];
  readonly row_sums: readonly { readonly stage: string; readonly largest: number; readonly values: Values }[];
  readonly reading: readonly Reading[];
  readonly loss?: number;
  readonly step?: number;
  readonly differences?: readonly Difference[] | null;
}

/** Rows of numbers with what is known of them. */
export interface Matrix {
  readonly name: string;
  readonly symbol: string;
  readonly dims: readonly string[];
  readonly values: readonly (readonly number[])[];
}

/** The number that an entry of `Values` stands for. */
export function numberOf(value: Values | undefined): number {
  return typeof value === 'string' ? Number(value) : typeof value === 'number' ? value : NaN;
}

function listOf(value: Values | undefined): readonly Values[] {
  return Array.isArray(value) ? (value as readonly Values[]) : [];
}

/** The last two axes of `values`, of the first batch entry and of one head where there are heads. */
export function matrixOf(values: Values, rank: number, head: number): number[][] {
  let inner: Values | undefined = values;
  if (rank === 4) inner = listOf(listOf(inner)[0])[head];
  if (rank === 3) inner = listOf(inner)[0];
  if (rank === 1) inner = [inner ?? []];
  return listOf(inner).map((row) => listOf(row).map(numberOf));
}

const read = new WeakMap<Stage, Map<number, number[][]>>();

/** The rows of a stage's head, read once: pointing at a matrix must not read it again. */
function rowsOf(stage: Stage, rank: number, head: number): number[][] {
  const heads = read.get(stage) ?? new Map<number, number[][]>();
  read.set(stage, heads);
  const known = heads.get(head) ?? matrixOf(stage.values, rank, head);
  heads.set(head, known);
  return known;
}

export function stageOf(document: Document, name: string): Stage | undefined {
  return document.stages.find((stage) => stage.name === name) ?? document.inputs.find((input) => input.name === name);
}

/** Of a query head's number, the head of K and V that it reads. The engine says it for the head that is looked at. */
function keyHead({ dims, select }: Document, head: number): number {
  const group = (dims['Hq'] ?? 1) / (dims['Hkv'] ?? 1);
  return head === select.head ? select.kv_head : Math.floor(head / group);
}

/**
 * The matrix of a stage or an input, of one query head (the one that is looked at, unless given); undefined if the
 * document has none. K and V may have fewer heads than Q.
 */
export function matrix(document: Document, name: string, head = document.select.head): Matrix | undefined {
  const stage = stageOf(document, name);
  if (stage === undefined) return undefined;
  const rank = stage.shape.length;
  const heads = rank === 4 ? (stage.shape[1] ?? 1) : 1;
  const own = heads < (document.dims['Hq'] ?? heads) && heads === document.dims['Hkv'] ? keyHead(document, head) : head;
  const values = rowsOf(stage, rank, Math.min(own, heads - 1));
  return { name, symbol: stage.symbol, dims: (stage.dims ?? []).slice(-2), values };
}

/** One row of a matrix; empty if there is none. */
export function rowOf(found: Matrix | undefined, row: number): readonly number[] {
  return found?.values[row] ?? [];
}
