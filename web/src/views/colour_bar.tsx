// The legend of a colour scale: what its ends stand for, and how hidden entries look.
import { colourOf, type Scale } from '../model/colour';
import { formatShort } from '../model/number';
import { language } from '../model/view_state';
import { t } from '../messages';

interface ColourBarProps {
  readonly scale: Scale;
  readonly most: number;
  readonly label: string;
  readonly hasMasked?: boolean;
  readonly hasClipped?: boolean;
  /** Below a small matrix, whose letter says what it is. */
  readonly isSmall?: boolean;
}

const STEPS = 16;

function gradientOf(scale: Scale): string {
  const stops = Array.from({ length: STEPS + 1 }, (_, step) => colourOf(scale === 'weights' ? step / STEPS : (2 * step) / STEPS - 1, scale, 1));
  return `linear-gradient(to right, ${stops.join(', ')})`;
}

const GRADIENTS: Readonly<Record<Scale, string>> = { weights: gradientOf('weights'), diverging: gradientOf('diverging') };

export function ColourBar({ scale, most, label, hasMasked = false, hasClipped = false, isSmall = false }: ColourBarProps) {
  const short = (value: number) => formatShort(value, language.value, 2);
  const least = short(scale === 'weights' ? 0 : -most);
  return (
    <div class={isSmall ? 'colour-bar is-small' : 'colour-bar'} role="img" aria-label={`${label}: ${least} … ${short(most)}`}>
      {!isSmall && <span class="colour-bar-label">{label}</span>}
      <span>{least}</span>
      <i class="colour-bar-scale" style={{ backgroundImage: GRADIENTS[scale] }} />
      <span>{short(most)}</span>
      {hasClipped && <span>▸ {t.value.shell.clipped}</span>}
      {hasMasked && (
        <span class="colour-bar-masked">
          <i class="is-masked" /> {t.value.shell.masked}
        </span>
      )}
    </div>
  );
}
