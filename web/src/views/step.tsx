// One step of a computation: its number, its name, its formula, a sentence, and what comes out.
import type { ComponentChildren } from 'preact';
import { Math as Formula, type MathProps } from './math';

interface StepProps {
  readonly number: string;
  readonly title: string;
  readonly formula?: Pick<MathProps, 'tex' | 'spoken' | 'isTall'>;
  readonly text: string;
  readonly children: ComponentChildren;
}

export function Step({ number, title, formula, text, children }: StepProps) {
  return (
    <li class="step">
      <div class="step-text">
        <h3>
          <span aria-hidden="true">{number}</span> {title}
        </h3>
        {formula && <Formula {...formula} isBlock />}
        <p>{text}</p>
      </div>
      <div class="step-result">{children}</div>
    </li>
  );
}
