// Code that can be copied with one click.
import { useState } from 'preact/hooks';
import { t } from '../messages';
import { announce } from './live_region';

interface CodeBlockProps {
  readonly code: string;
  readonly label: string;
}

export function CodeBlock({ code, label }: CodeBlockProps) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(code);
    setCopied(true);
    announce(t.value.shell.copied);
    setTimeout(() => setCopied(false), 2000);
  };
  return (
    <div class="code-block">
      <button type="button" class="quiet" onClick={() => void copy()}>
        {isCopied ? t.value.shell.copied : t.value.shell.copy}
      </button>
      <pre tabIndex={0} aria-label={label}>
        <code>{code}</code>
      </pre>
    </div>
  );
}
