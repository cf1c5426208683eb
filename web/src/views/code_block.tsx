// Code that can be copied with one click.
import { useRef, useState } from 'preact/hooks';
import { t } from '../messages';
import { copyText } from '../model/clipboard';
import { announce } from './live_region';

interface CodeBlockProps {
  readonly code: string;
  readonly label: string;
}

export function CodeBlock({ code, label }: CodeBlockProps) {
  const [outcome, setOutcome] = useState<'copied' | 'selected' | null>(null);
  const shown = useRef<HTMLPreElement>(null);
  const text = t.value.shell;
  const copy = async () => {
    const isCopied = await copyText(code);
    if (!isCopied && shown.current) {
      getSelection()?.selectAllChildren(shown.current);
      shown.current.focus();
    }
    setOutcome(isCopied ? 'copied' : 'selected');
    announce(isCopied ? text.copied : text.selected);
    setTimeout(() => setOutcome(null), isCopied ? 2000 : 10_000);
  };
  return (
    <div class="code-block">
      <div class="code-head">
        <span aria-hidden="true">{label}</span>
        <button type="button" class="quiet" onClick={() => void copy()}>
          {outcome ? text[outcome] : text.copy}
        </button>
      </div>
      <pre ref={shown} tabIndex={0} aria-label={label}>
        <code>{code}</code>
      </pre>
    </div>
  );
}
