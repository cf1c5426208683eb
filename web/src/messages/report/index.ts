// The texts of a check's report, apart from the lesson's, which needs none of them.
import { computed } from '@preact/signals';
import { language } from '../../model/view_state';
import { report as en } from './en';
import { report as pt } from './pt';

const catalogue: Readonly<Record<'en' | 'pt', typeof en>> = { en, pt };

export const r = computed(() => catalogue[language.value]);
