// A small button at every matrix and chart, and the one menu that they all open: SVG, PNG, CSV or JSON.
import { useContext, useLayoutEffect, useRef } from 'preact/hooks';
import { signal } from '@preact/signals';
import { t } from '../messages';
import { announce } from './live_region';
import { OriginOf, provenance, type Origin, type Source } from './provenance';
import { FORMATS, saveAs, type Format, type Subject } from './save';

interface Opened {
  readonly button: HTMLElement;
  readonly name: string;
  readonly subject: () => Subject;
  readonly origin: Origin;
}

const opened = signal<Opened | null>(null);

/** Takes the menu away; the keyboard is at its button again. */
function close() {
  opened.peek()?.button.focus({ preventScroll: true });
  opened.value = null;
}

interface SaveButtonProps {
  readonly name: string;
  /** Made when a format is chosen. */
  readonly subject: () => Subject;
  /** Where the numbers come from, if not from the part's own document. */
  readonly document?: Source | null;
}

export function SaveButton({ name, subject, document }: SaveButtonProps) {
  const origin = useContext(OriginOf);
  const label = t.value.shell.exportOf(name);
  return (
    <button
      type="button"
      class="save"
      aria-haspopup="menu"
      aria-label={label}
      title={label}
      onClick={(event) => {
        const button = event.currentTarget;
        opened.value = { button, name, subject, origin: document ? { part: origin.part, document } : origin };
      }}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d="M8 2v8M4.5 6.8 8 10.3l3.5-3.5M3 13.5h10" />
      </svg>
    </button>
  );
}

const GAP = 4; // pixels

/** Below the button, or above it where there is no room; never beyond the screen. */
function place(menu: HTMLElement, button: HTMLElement) {
  const [box, size] = [button.getBoundingClientRect(), menu.getBoundingClientRect()];
  const below = box.bottom + GAP;
  const top = below + size.height > innerHeight ? Math.max(GAP, box.top - GAP - size.height) : below;
  menu.style.top = `${top}px`;
  menu.style.left = `${Math.max(GAP, Math.min(box.left, innerWidth - size.width - GAP))}px`;
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

function walk(event: KeyboardEvent, menu: HTMLElement | null) {
  const items = [...(menu?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
  const { activeElement } = (menu?.getRootNode() ?? document) as Document | ShadowRoot;
  const at = items.findIndex((item) => item === activeElement);
  const step = STEPS[event.key];
  const next = event.key === 'Home' ? 0 : event.key === 'End' ? -1 : step === undefined ? null : (at + step) % items.length;
  if (event.key === 'Tab') close(); // and on from there
  if (next === null) return;
  event.preventDefault();
  items.at(next)?.focus();
}

/** The menu, while one is open. It stands once in the page. */
export function SaveMenu() {
  const now = opened.value;
  const menu = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    // At once: the next key press may be on its way.
    if (!now || !menu.current) return;
    const follow = () => menu.current && place(menu.current, now.button);
    menu.current.showPopover();
    follow();
    menu.current.querySelector<HTMLElement>('[role=menuitem]')?.focus({ preventScroll: true });
    addEventListener('scroll', follow, { passive: true });
    return () => removeEventListener('scroll', follow);
  }, [now]);
  if (!now) return null;
  const text = t.value.shell;
  const save = async (format: Format) => {
    close();
    const name = await saveAs(now.subject(), provenance(now.origin), format).catch(() => null);
    announce(name === null ? text.notSaved : text.saved(name));
  };
  return (
    <div
      ref={menu}
      class="save-menu"
      popover="auto"
      role="menu"
      aria-label={text.exportOf(now.name)}
      onKeyDown={(event) => walk(event, menu.current)}
      onToggle={(event) => event.newState === 'closed' && opened.value === now && (opened.value = null)}
    >
      {FORMATS.map((format) => (
        <button key={format} type="button" role="menuitem" tabIndex={-1} onClick={() => void save(format)}>
          <b>{format}</b> <span>{text.formats[format]}</span>
        </button>
      ))}
    </div>
  );
}
