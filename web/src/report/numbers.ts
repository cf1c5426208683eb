// The checker's numbers in the reader's language.
import { numberOf } from '../model/document';
import { formatShort } from '../model/number';
import type { Num } from '../model/check_report';
import { language } from '../model/view_state';

/** An error or a bound: two digits say enough. */
export const size = (value: Num) => formatShort(numberOf(value), language.value, 2);

/** A value that was computed: seven digits, as many as an f32 has. */
export const value = (found: Num) => formatShort(numberOf(found), language.value, 7);
