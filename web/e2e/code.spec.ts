// Part 4: the same in code, as the files that the tests run.
import { readFileSync } from 'node:fs';
import { expect, test } from '@playwright/test';
import { cell, choose, expectNumbers, grid, lesson, open, press, said, tabTo, undo } from './reading';

const bank = lesson('bank');
const LANGUAGES = [
  ['NumPy', 'bank.py'],
  ['C++', 'bank.cc'],
  ['Shell', 'bank.sh'],
] as const;
const fileOf = (name: string) => readFileSync(`../examples/lesson/${name}`, 'utf8');

test.use({ permissions: ['clipboard-read', 'clipboard-write'] });
const clipboard = () => navigator.clipboard.readText();

for (const [language, file] of LANGUAGES)
  test(`the ${language} code is ${file}, whole, and is copied with one click`, async ({ page }) => {
    const here = await open(page, 'code');
    await choose(here, language);
    await expect(here.locator('pre code')).toHaveText(fileOf(file), { useInnerText: false });
    await here.getByRole('button', { name: 'Copy' }).click();
    await expect(here.getByRole('button', { name: 'Copied' })).toBeVisible();
    expect(await page.evaluate(clipboard)).toBe(fileOf(file));
    await expect(said(page)).toHaveText('Copied');
  });

test('all three queries at once give the lesson\'s A and O', async ({ page }) => {
  const here = await open(page, 'code');
  await expectNumbers(grid(here, 'A'), bank.expected.weights.flat());
  await expectNumbers(grid(here, 'O'), bank.expected.output.flat());
});

test('the chosen language can be undone', async ({ page }) => {
  const here = await open(page, 'code');
  await choose(here, 'Shell');
  await expect(here.locator('pre')).toContainText('qkv explain bank');
  await undo(page).click();
  await expect(here.locator('pre')).toContainText('import numpy');
});

test('by keyboard alone', async ({ page }) => {
  const here = await open(page, 'code');
  await tabTo(page, here.getByRole('radio', { name: 'NumPy' }));
  await press(page, 'ArrowRight');
  await expect(here.locator('pre')).toContainText('#include');
  await tabTo(page, here.getByRole('button', { name: 'Copy' }));
  await press(page, 'Enter');
  await expect(said(page)).toHaveText('Copied');
  expect(await page.evaluate(clipboard)).toBe(fileOf('bank.cc'));
  await tabTo(page, cell(grid(here, 'A'), 0, 0));
  await press(page, 'ArrowDown', 'End');
  await expect(said(page)).toContainText('bank → river 0.62');
  await press(page, 'Enter');
  await expect(cell(grid(here, 'A'), 1, 2)).toHaveClass(/is-pinned/);
  await press(page, 'Escape');
  await expect(cell(grid(here, 'A'), 1, 2)).not.toHaveClass(/is-pinned/);
});
