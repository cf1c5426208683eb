// How the page is looked at: language, theme, the parts that a teacher leaves out, the part on a phone's screen.
import { addressNow, property } from './state';
import { choice, flag, text, type Codec } from './codec';
import type { Language } from './document';
import { computed } from '@preact/signals';

const preferred: Language = navigator.languages.some((one) => one.toLowerCase().startsWith('pt')) &&
  !(navigator.languages[0] ?? '').toLowerCase().startsWith('en')
  ? 'pt'
  : 'en';

const chosen = property('lang', choice('auto', 'en', 'pt'), 'auto', { isUndoable: false });

export const language = computed<Language>(() => (chosen.value === 'auto' ? preferred : chosen.value));
export function chooseLanguage(next: Language) {
  chosen.value = next === preferred ? 'auto' : next;
}

/** The address of this view for somebody else, whose browser may speak another language. */
export function linkNow(): string {
  const [page = '', fields = ''] = addressNow().split('#');
  return `${page}#${new URLSearchParams([['lang', language.value], ...[...new URLSearchParams(fields)].filter(([name]) => name !== 'lang')]).toString()}`;
}

export const theme = property('theme', choice('auto', 'light', 'dark'), 'auto', { isUndoable: false });
export const isEmbedded = property('embed', flag, false, { isUndoable: false });
export const openPart = property('part', text, '', { isUndoable: false });

const names: Codec<readonly string[]> = {
  encode: (value) => value.join(','),
  decode: (written) => written.split(',').filter((name) => name !== ''),
};
/** Parts that are not shown: names or numbers from 1, `_hide=code,9`. */
export const hidden = property('_hide', names, [], { isUndoable: false });
