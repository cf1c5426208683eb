// The page's texts in the reader's language. A key that one language lacks does not compile.
import { computed } from '@preact/signals';
import { language } from '../model/view_state';
import * as en from './en';
import * as pt from './pt';

export type Messages = typeof en;
const catalogue: Readonly<Record<'en' | 'pt', Messages>> = { en, pt };

export const t = computed<Messages>(() => catalogue[language.value]);
