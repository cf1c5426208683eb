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
}

const STEPS = 40;

export function ColourBar({ scale, most, label, hasMasked = false }: ColourBarProps) {
  const least = scale === 'weights' ? 0 : -most;
  return (
    <div class="colour-bar" role="img" aria-label={`${label}: ${formatShort(least, language.value)} … ${formatShort(most, language.value)}`}>
      <span class="colour-bar-label">{label}</span>
      <span>{formatShort(least, language.value)}</span>
      <svg viewBox={`0 0 ${STEPS} 4`} preserveAspectRatio="none" aria-hidden="true">
        {Array.from({ length: STEPS }, (_, step) => (
          <rect
            key={step}
            x={step}
            width={1.05}
            height={4}
            fill={colourOf(least + ((most - least) * (step + 0.5)) / STEPS, scale, most)}
          />
        ))}
      </svg>
      <span>{formatShort(most, language.value)}</span>
      {hasMasked && (
        <span class="colour-bar-masked">
          <i class="is-masked" aria-hidden="true" /> {t.value.shell.masked}
        </span>
      )}
    </div>
  );
}
