// The nine titles: a list beside the page, a bar above it on smaller screens, tabs of one part at a time on a phone.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Part } from '../parts';
import { t } from '../messages';
import { openPart } from '../model/view_state';

/** The name of the part that the reader is in. */
function useReading(parts: readonly Part[]): string {
  const [reading, setReading] = useState('');
  useEffect(() => {
    const watcher = new IntersectionObserver(
      (seen) => {
        for (const one of seen) if (one.isIntersecting) setReading(one.target.id);
      },
      { rootMargin: '-30% 0px -60% 0px' },
    );
    for (const { name } of parts) {
      const section = document.getElementById(name);
      if (section) watcher.observe(section);
    }
    return () => watcher.disconnect();
  }, [parts.length]);
  return reading;
}

export function Navigation({ parts, open }: { parts: readonly Part[]; open: string }) {
  const reading = useReading(parts);
  const bar = useRef<HTMLElement>(null);
  useEffect(() => {
    // Where the titles are a bar, the present one comes into sight; the page stays where it is.
    const item = bar.current?.querySelector<HTMLElement>('[aria-current]')?.parentElement;
    if (bar.current && item) bar.current.scrollLeft = item.offsetLeft - (bar.current.clientWidth - item.offsetWidth) / 2;
  }, [open, reading]);
  const go = (name: string) => {
    openPart.value = name;
    requestAnimationFrame(() => {
      const title = document.getElementById(`${name}-title`);
      title?.scrollIntoView({ block: 'start' });
      title?.setAttribute('tabindex', '-1');
      title?.focus({ preventScroll: true });
    });
  };
  return (
    <nav ref={bar} class="contents" aria-label={t.value.shell.contents}>
      <ol>
        {parts.map(({ name, number, title }) => (
          <li key={name} class={`${name === open ? 'is-open' : ''} ${name === reading ? 'is-reading' : ''}`}>
            <button type="button" aria-current={name === (reading || open) ? 'true' : undefined} onClick={() => go(name)}>
              <span class="contents-number">{number}</span> <span class="contents-title">{title(t.value)}</span>
            </button>
          </li>
        ))}
      </ol>
    </nav>
  );
}
