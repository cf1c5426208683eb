// The engine's document of drawn scores (docs/explain.md, "Scores of a whole matrix").
import type { Stage } from './document';

export interface ScoresDocument {
  readonly qkv: string;
  readonly kind: 'scores';
  readonly problem: string;
  readonly dims: { readonly n: number; readonly d_k: number };
  readonly stages: readonly Stage[];
  readonly deviation: {
    readonly expected: number;
    readonly all: number | null;
    readonly noise: number | null;
    readonly scaled: number | null;
  };
  readonly histogram: { readonly edges: readonly number[]; readonly counts: readonly number[] };
  readonly rows: Readonly<Record<'largest' | 'entropy' | 'gradient', readonly number[]>>;
  readonly means: Readonly<Record<'largest' | 'entropy' | 'gradient', number>>;
}
