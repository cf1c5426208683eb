// Language and theme.
import { t } from '../messages';
import { chooseLanguage, language, theme } from '../model/view_state';

/** `auto` says what the theme follows, where that is not the system. */
export function Preferences({ auto = t.value.shell.themes.auto }: { auto?: string }) {
  const text = t.value.shell;
  return (
    <>
      <span role="group" aria-label={text.language} class="pair">
        {(['en', 'pt'] as const).map((one) => (
          <button key={one} type="button" class="quiet" lang={one} aria-pressed={language.value === one} onClick={() => chooseLanguage(one)}>
            {one === 'en' ? 'English' : 'Português'}
          </button>
        ))}
      </span>
      <label class="theme">
        <span class="visually-hidden">{text.theme}</span>
        <select value={theme.value} onChange={(event) => (theme.value = event.currentTarget.value as typeof theme.value)}>
          {(['auto', 'light', 'dark'] as const).map((one) => (
            <option key={one} value={one}>
              {text.theme}: {one === 'auto' ? auto : text.themes[one]}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}
