// The texts of the panel in a notebook, apart from the lesson's.
import { computed } from '@preact/signals';
import { language } from '../../model/view_state';
import { widget as en } from './en';
import { widget as pt } from './pt';

const catalogue: Readonly<Record<'en' | 'pt', typeof en>> = { en, pt };

export const w = computed(() => catalogue[language.value]);
