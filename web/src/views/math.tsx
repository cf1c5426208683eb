// A formula, set by KaTeX when it first comes near the screen, with MathML and a sentence that can be read aloud. Its
// place has its height from the beginning, so that nothing moves when it is set.
import { useEffect, useRef, useState } from 'preact/hooks';

export interface MathProps {
  readonly tex: string;
  /** The formula in words, in the reader's language. */
  readonly spoken: string;
  /** On a line of its own. */
  readonly isBlock?: boolean;
  /** Of a line with fractions or sums. */
  readonly isTall?: boolean;
}

let loading: Promise<typeof import('./katex_chunk')> | null = null;

export function Math({ tex, spoken, isBlock = false, isTall = false }: MathProps) {
  const place = useRef<HTMLSpanElement>(null);
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const draw = async () => {
      loading ??= import('./katex_chunk');
      (await loading).draw(tex, element, isTall);
    };
    const watcher = new IntersectionObserver(
      (seen) => {
        if (!seen.some((one) => one.isIntersecting)) return;
        watcher.disconnect();
        draw().catch(() => {
          loading = null; // the next formula tries again
          setMissing(true);
        });
      },
      { rootMargin: '200px' },
    );
    watcher.observe(element);
    return () => watcher.disconnect();
  }, [tex, isTall]);
  const kind = `math ${isBlock ? 'is-block' : ''} ${isTall ? 'is-tall' : ''}`;
  return (
    <span class={kind} role="math" aria-label={spoken}>
      <span ref={place} class="math-place" aria-hidden="true" />
      {isMissing && <span aria-hidden="true">{spoken}</span>}
    </span>
  );
}
