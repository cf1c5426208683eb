// The options of part 9: those of the file, with what the reader chose over them.
import type { Json } from '../source/source';

export type Corner = 'top_left' | 'bottom_right';

/** What the reader chose; null: as the file says. */
export interface Chosen {
  readonly scale: number | null;
  readonly softcap: number | null;
  readonly causal: boolean | null;
  readonly corner: Corner | null;
  /** How far a query sees back and ahead; −1 is open. */
  readonly left: number | null;
  readonly right: number | null;
}

type Fields = Readonly<Record<string, unknown>>;

/** The corner that a file names: `causal` may be one. */
function cornerOf({ causal, corner }: Fields): string | null {
  return typeof causal === 'string' ? causal : typeof corner === 'string' ? corner : null;
}

/** What will be in effect. */
export function inEffect(fields: Fields, chosen: Chosen) {
  const [left, right] = Array.isArray(fields['window']) ? (fields['window'] as number[]) : [];
  const window = [chosen.left ?? left ?? -1, chosen.right ?? right ?? -1] as const;
  const isCausal = chosen.causal ?? Boolean(fields['causal'] ?? false);
  const needsCorner = isCausal || window[0] >= 0 || window[1] >= 0 || fields['slopes'] !== undefined;
  return { isCausal, window, needsCorner, corner: chosen.corner ?? cornerOf(fields) };
}

/** A request with the chosen options; what was not chosen stays as the file has it. */
export function withOptions(request: Readonly<Record<string, Json>>, chosen: Chosen, isSquare: boolean): Readonly<Record<string, Json>> {
  const out: Record<string, Json> = { ...request };
  if (chosen.scale !== null) out['scale'] = chosen.scale;
  if (chosen.softcap !== null) out['softcap'] = chosen.softcap;
  if (chosen.causal === null && chosen.corner === null && chosen.left === null && chosen.right === null) return out;
  const { isCausal, window, needsCorner, corner } = inEffect(request, chosen);
  for (const field of ['causal', 'corner', 'window']) delete out[field];
  if (isCausal) out['causal'] = true;
  if (window[0] >= 0 || window[1] >= 0) out['window'] = [...window];
  // Where both ends have the same length, the corners are one.
  if (needsCorner && (corner !== null || !isSquare)) out['corner'] = corner ?? 'bottom_right';
  return out;
}
