// What the package takes and gives. Options have the names of docs/explain.md in qkv's repository.

/** Numbers in row-major order, and the extents of their axes. */
export interface Tensor {
  readonly data: Float32Array;
  readonly shape: readonly number[];
}

/** 1 where a key may be seen, 0 where it may not. */
export interface Mask {
  readonly data: Uint8Array;
  readonly shape: readonly number[];
}

export type Numbers = readonly number[] | Int32Array | Float32Array | Float64Array;

/** Where query 0 stands among the keys: what depends on positions needs it unless there are as many keys as queries. */
export type Corner = 'top_left' | 'bottom_right' | `offset:${number}`;

/** What changes the result. Masks combine: a key is seen only if every one of them allows it. */
export interface AttentionOptions {
  /** Factor of q·k; 1/√D unless given. */
  readonly scale?: number;
  /** Scores become softcap · tanh(scores / softcap). */
  readonly softcap?: number;
  /** See no later key. A corner instead of `true` also says where query 0 stands. */
  readonly causal?: boolean | Corner;
  /** For causal, window and slopes. */
  readonly corner?: Corner;
  /** Keys from `left` before to `right` after are seen; -1 leaves a side open. */
  readonly window?: readonly [left: number, right: number];
  /** Broadcasts to [B,Hq,Tq,Tk]. */
  readonly keep?: Mask;
  /** [B,Tk]. */
  readonly key_mask?: Mask;
  /** Added to the scores; broadcasts to [B,Hq,Tq,Tk]. -Infinity hides a key. */
  readonly bias?: Tensor;
  /** How many keys of each batch entry exist. */
  readonly key_lengths?: Numbers;
  /** Packed sequences in a batch of 1: where each starts, and the end. */
  readonly cu_seqlens_q?: Numbers;
  readonly cu_seqlens_k?: Numbers;
  /** ALiBi slopes, one a query head. */
  readonly slopes?: Numbers;
  /** One logit a query head that joins the softmax's sum and carries no value. */
  readonly sinks?: Numbers;
  /** The order of the axes of q, k, v and o: [B,H,T,D] unless given. */
  readonly layout?: 'bhtd' | 'bthd';
}

export interface AttentionResult {
  /** [B,Hq,Tq,Dv], with as many axes as q, in its layout. */
  readonly o: Tensor;
  /** [B,Hq,Tq]: the logarithm of each row's sum. */
  readonly lse: Tensor;
}

/** A value as JSON has it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** A request of docs/explain.md; its numbers may be typed arrays, and need not be finite. */
export interface ExplainRequest {
  readonly [name: string]: unknown;
}

/** A document of docs/explain.md. */
export interface ExplainDocument {
  readonly [name: string]: Json;
}

/** The module, ready to compute. */
export interface Engine {
  /**
   * Exact attention, computed in float32: o = softmax(scale q kᵀ + …) v for every batch entry and head.
   *
   * q [B,Hq,Tq,D], k [B,Hkv,Tk,D], v [B,Hkv,Tk,Dv]; [H,T,D] and [T,D] are taken too. Query head h reads KV head
   * ⌊h / (Hq / Hkv)⌋. A row whose keys are all hidden gives 0, and lse -Infinity. Throws QkvError.
   */
  attention(q: Tensor, k: Tensor, v: Tensor, options?: AttentionOptions): AttentionResult;
  /** Every number between the input and the output of a small problem, in float64. Throws QkvError. */
  explain(request: ExplainRequest): ExplainDocument;
}
