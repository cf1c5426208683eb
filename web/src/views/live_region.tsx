// One polite live region: what a screen reader is told when the eye would have seen it.
import { signal } from '@preact/signals';

const said = signal('');

export function announce(text: string) {
  said.value = text;
}

export function LiveRegion() {
  return (
    <div class="visually-hidden" role="status" aria-live="polite" data-testid="live">
      {said.value}
    </div>
  );
}
