// What every part has: its number, its title, a short paragraph, and the panel.
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { reset } from '../model/state';
import { t } from '../messages';
import { OriginOf, type Origin, type Source } from './provenance';

interface PartFrameProps {
  readonly name: string; // of its properties in the address: "bank"
  readonly number: number;
  readonly title: string;
  readonly lead: ComponentChildren;
  readonly children: ComponentChildren;
  /** What the engine says against the present numbers. */
  readonly error?: string | null;
  readonly canReset?: boolean;
  /** What the numbers come from: files that are saved say so. */
  readonly document?: Source | null | undefined;
}

export function PartFrame({ name, number, title, lead, children, error, canReset = true, document = null }: PartFrameProps) {
  const origin = useRef<Origin>({ part: name, document });
  origin.current.document = document;
  return (
    <section class="part" id={name} aria-labelledby={`${name}-title`} data-part={name}>
      <header class="part-head">
        <span class="part-number" aria-hidden="true">
          {number}
        </span>
        <h2 id={`${name}-title`}>{title}</h2>
        <div class="lead">{lead}</div>
      </header>
      <div class="panel">
        <OriginOf.Provider value={origin.current}>{children}</OriginOf.Provider>
        {error && (
          <p class="error" role="alert">
            {error}
          </p>
        )}
        {canReset && (
          <p class="panel-foot">
            <button type="button" class="quiet" onClick={() => reset(`${name}.`)}>
              {t.value.shell.startAgain}
            </button>
          </p>
        )}
      </div>
    </section>
  );
}
