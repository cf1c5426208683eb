// One step of a computation: its number, its name, a sentence, and what comes out.
import type { ComponentChildren } from 'preact';

interface StepProps {
  readonly number: string;
  readonly title: string;
  readonly text: string;
  readonly children: ComponentChildren;
}

export function Step({ number, title, text, children }: StepProps) {
  return (
    <li class="step">
      <div class="step-text">
        <h3>
          <span aria-hidden="true">{number}</span> {title}
        </h3>
        <p>{text}</p>
      </div>
      <div class="step-result">{children}</div>
    </li>
  );
}
