// The panel as anywidget loads it: a module whose default renders a model of the kernel into an element of the notebook.
import { effect } from '@preact/signals';
import { render as draw } from 'preact';
import { theme } from '../model/view_state';
import style from '../style/widget.css?inline';
import { follow, type Model } from './answer';
import { followTheme, type Theme } from './host_theme';
import { Panel } from './panel';

/** Gives the element the theme that the reader chose, or else the notebook's, or else (none set) the system's. */
function dress(el: HTMLElement): () => void {
  let around: Theme | null = null;
  const wear = () => {
    const chosen = theme.value === 'auto' ? around : theme.value;
    if (chosen) el.dataset['theme'] = chosen;
    else delete el.dataset['theme'];
  };
  const endTheme = followTheme(document, (found) => {
    around = found;
    wear();
  });
  const endChoice = effect(wear);
  return () => {
    endTheme();
    endChoice();
  };
}

/** What it returns takes the panel away. */
function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const root = el.shadowRoot ?? el.attachShadow({ mode: 'open' }); // an element may be used again
  const sheet = document.createElement('style');
  sheet.textContent = style;
  const place = document.createElement('div');
  root.replaceChildren(sheet, place);
  // The keys that walk through a matrix are the notebook's commands elsewhere.
  el.dataset['lmSuppressShortcuts'] = 'true';
  const keep = (event: Event) => event.stopPropagation();
  el.addEventListener('keydown', keep);
  const asked = follow(model);
  const undress = dress(el);
  draw(<Panel asked={asked} />, place);
  return () => {
    draw(null, place);
    undress();
    asked.end();
    el.removeEventListener('keydown', keep);
  };
}

export default { render };
