// A section of the report with its title, and a table in it.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

export function Section({ title, children }: { title: string; children: ComponentChildren }) {
  const id = useId();
  return (
    <section class="report-section" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

interface TableProps {
  readonly label: string;
  readonly heads: readonly string[];
  readonly children: ComponentChildren;
}

/** Wider than a phone it scrolls, by the keyboard too. */
export function Table({ label, heads, children }: TableProps) {
  return (
    <div class="report-table" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

/** Whether a line of a table is as it should be, for the eye and for the ear. */
export function Mark({ isRight, text }: { isRight: boolean; text: string }) {
  return (
    <span class={isRight ? 'mark is-right' : 'mark is-wrong'}>
      <span aria-hidden="true">{isRight ? '✓' : '✗'}</span> <span class="mark-text">{text}</span>
    </span>
  );
}
