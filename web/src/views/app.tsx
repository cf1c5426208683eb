// The frame of the page: title, navigation, the parts, and what is chosen for all of them.
import { useEffect } from 'preact/hooks';
import { parts } from '../parts';
import { t } from '../messages';
import { hidden, isEmbedded, language, openPart, theme } from '../model/view_state';
import { redo, undo } from '../model/state';
import { source } from '../source/chosen';
import { LiveRegion } from './live_region';
import { Navigation } from './navigation';
import { SaveMenu } from './save_menu';
import { Toolbar } from './toolbar';

/** Fields have an undo of their own. */
function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement && (target.type === 'text' || target.type === 'search');
}

function pressed(event: KeyboardEvent) {
  if (!(event.ctrlKey || event.metaKey) || isTyping(event.target)) return;
  const key = event.key.toLowerCase();
  if (key !== 'z' && key !== 'y') return;
  event.preventDefault();
  if (key === 'y' || event.shiftKey) redo();
  else undo();
}

export function App() {
  const text = t.value.shell;
  const shown = parts.filter(({ name, number }) => !hidden.value.includes(name) && !hidden.value.includes(String(number)));
  const open = shown.find(({ name }) => name === openPart.value) ?? shown[0];
  useEffect(() => {
    document.documentElement.lang = language.value === 'pt' ? 'pt-BR' : 'en';
    document.documentElement.dataset['theme'] = theme.value;
    document.title = text.pageTitle;
  });
  useEffect(() => {
    // A copied link leads to its part also where all parts are on the screen.
    if (openPart.peek() !== '') document.getElementById(openPart.peek())?.scrollIntoView();
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
  return (
    <div class={isEmbedded.value ? 'page is-embedded' : 'page'}>
      <a class="skip" href="#lesson" onClick={(event) => (event.preventDefault(), document.getElementById('lesson')?.focus())}>
        {text.skip}
      </a>
      {!isEmbedded.value && (
        <header class="masthead">
          <Toolbar />
          <h1>{text.title}</h1>
          <p class="subtitle">{text.subtitle}</p>
        </header>
      )}
      {!isEmbedded.value && <Navigation parts={shown} open={open?.name ?? ''} />}
      <main id="lesson" tabIndex={-1}>
        {shown.map(({ name, number, View }) => (
          <div key={name} class={name === open?.name ? 'part-slot is-open' : 'part-slot'}>
            <View number={number} />
          </div>
        ))}
        <SaveMenu />
      </main>
      {!isEmbedded.value && <footer class="colophon">{text.engine[source().kind]}</footer>}
      <LiveRegion />
    </div>
  );
}
