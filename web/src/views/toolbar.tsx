// Undo, the link to this view, and what the reader prefers.
import { useEffect, useRef, useState } from 'preact/hooks';
import { t } from '../messages';
import { copyText } from '../model/clipboard';
import { canRedo, canUndo, redo, undo } from '../model/state';
import { linkNow } from '../model/view_state';
import { announce } from './live_region';
import { Preferences } from './preferences';

export function Toolbar() {
  const text = t.value.shell;
  return (
    <div class="toolbar">
      <span class="brand">qkv</span>
      <button type="button" class="quiet" disabled={!canUndo.value} onClick={undo}>
        {text.undo}
      </button>
      <button type="button" class="quiet" disabled={!canRedo.value} onClick={redo}>
        {text.redo}
      </button>
      <LinkButton />
      <span class="toolbar-space" />
      <Preferences />
    </div>
  );
}

/** Copies the link; where the browser has no clipboard for the page, shows it, selected. */
function LinkButton() {
  const text = t.value.shell;
  const [isCopied, setCopied] = useState(false);
  const [shown, setShown] = useState<string | null>(null);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, [shown]);
  const copy = async () => {
    const link = linkNow();
    const isDone = await copyText(link);
    setCopied(isDone);
    setShown(isDone ? null : link);
    announce(isDone ? text.linkCopied : text.linkShown);
    if (isDone) setTimeout(() => setCopied(false), 2000);
  };
  return (
    <>
      <button type="button" class="quiet" onClick={() => void copy()}>
        {isCopied ? text.linkCopied : text.copyLink}
      </button>
      {shown !== null && (
        <input
          ref={field}
          class="toolbar-link"
          type="text"
          readOnly
          value={shown}
          aria-label={text.linkShown}
          onKeyDown={(event) => event.key === 'Escape' && setShown(null)}
          onBlur={() => setShown(null)}
        />
      )}
    </>
  );
}
