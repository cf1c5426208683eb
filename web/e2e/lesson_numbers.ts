// The lesson's numbers, and those that stand on the screen.
import { readFileSync } from 'node:fs';
import { expect, type Locator, type Page } from '@playwright/test';

export const lesson = (name: string) => JSON.parse(readFileSync(`../tests/data/lesson/${name}.json`, 'utf8'));

export const part = (page: Page, name: string) => page.locator(`[data-part=${name}]`);
export const grid = (where: Locator, symbol: string) => where.getByRole('grid', { name: new RegExp(`^${symbol}:`) });

/** The numbers of a grid as they stand on the screen. */
export async function numbersOf(found: Locator): Promise<number[]> {
  const texts = await found.getByRole('gridcell').allTextContents();
  return texts.map((text) => Number(text.replace('−', '-').replace(',', '.').replace('∞', 'Infinity')));
}

const rounded = (values: readonly number[], decimals = 2) => values.map((value) => Number(value.toFixed(decimals)));

export async function expectNumbers(found: Locator, expected: readonly number[], decimals = 2) {
  await expect.poll(() => numbersOf(found)).toEqual(rounded(expected, decimals));
}
