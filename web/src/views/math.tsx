// A formula, set by KaTeX when it first comes near the screen, with MathML and a sentence that can be read aloud.
import { useEffect, useRef } from 'preact/hooks';

interface MathProps {
  readonly tex: string;
  /** The formula in words, in the reader's language. */
  readonly spoken: string;
  readonly isBlock?: boolean;
}

let loading: Promise<typeof import('./katex_chunk')> | null = null;

export function Math({ tex, spoken, isBlock = false }: MathProps) {
  const place = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const draw = async () => {
      loading ??= import('./katex_chunk');
      (await loading).draw(tex, element, isBlock);
    };
    const watcher = new IntersectionObserver(
      (seen) => {
        if (!seen.some((one) => one.isIntersecting)) return;
        watcher.disconnect();
        void draw();
      },
      { rootMargin: '200px' },
    );
    watcher.observe(element);
    return () => watcher.disconnect();
  }, [tex, isBlock]);
  return (
    <span class={isBlock ? 'math is-block' : 'math'} role="math" aria-label={spoken}>
      <span ref={place} aria-hidden="true">
        {spoken}
      </span>
    </span>
  );
}
