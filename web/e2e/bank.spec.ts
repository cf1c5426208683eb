// Part 3 as a reader uses it, held to the lesson's numbers.
import { expect, test } from '@playwright/test';
import { cell, choose, expectNumbers, grid, lesson, open, press, said, tabTo, undo } from './reading';

const bank = lesson('bank');

test('the four steps of bank are the lesson\'s', async ({ page }) => {
  const here = await open(page, 'bank');
  await expectNumbers(grid(here, 'q·k'), bank.expected.raw[1]);
  await expectNumbers(grid(here, 's'), bank.expected.scaled[1]);
  await expectNumbers(grid(here, 'a'), bank.expected.weights[1]);
  await expectNumbers(grid(here, 'o'), bank.expected.output[1]);
  await expect(here.getByTestId('bank-answer')).toHaveText('Answer: [0.85, 0.15]');
});

test('each token asks in its turn', async ({ page }) => {
  const here = await open(page, 'bank');
  for (const [row, token] of ['sat', 'bank', 'river'].entries()) {
    await choose(here, token);
    await expectNumbers(grid(here, 'a'), bank.expected.weights[row]);
    await expectNumbers(grid(here, 'o'), bank.expected.output[row]);
  }
});

for (const [button, key] of [
  ['River says money', 'river_says_money'],
  ['Query [1, 0]', 'query_1_0'],
  ['Query zero', 'query_zero'],
] as const)
  test(`the experiment "${button}" gives the lesson's weights and answer, and undo takes it back`, async ({ page }) => {
    const here = await open(page, 'bank');
    await here.getByRole('button', { name: button }).click();
    await expectNumbers(grid(here, 'a'), bank.experiments[key].expected.weights[1]);
    await expectNumbers(grid(here, 'o'), bank.experiments[key].expected.output[1]);
    await undo(page).click();
    await expectNumbers(grid(here, 'o'), bank.expected.output[1]);
  });

test('"start again" gives the lesson\'s numbers back, and can be undone itself', async ({ page }) => {
  const here = await open(page, 'bank');
  await here.getByRole('button', { name: 'Query zero' }).click();
  await here.getByRole('button', { name: 'River says money' }).click();
  const changed = here.getByTestId('bank-answer');
  await expect(changed).toHaveText('Answer: [0.50, 0.50]');
  await here.getByRole('button', { name: 'Start again' }).click();
  await expect(changed).toHaveText('Answer: [0.85, 0.15]');
  await undo(page).click();
  await expect(changed).toHaveText('Answer: [0.50, 0.50]');
  await page.getByRole('button', { name: 'Redo' }).click();
  await expect(changed).toHaveText('Answer: [0.85, 0.15]');
});

test('a number is edited by keyboard alone, with a comma too, and each key press counts', async ({ page }) => {
  const here = await open(page, 'bank');
  await tabTo(page, cell(grid(here, 'V'), 0, 0));
  await press(page, 'Control+End', 'ArrowLeft');
  await page.keyboard.type('0');
  await expect(here.getByRole('textbox')).toHaveValue('0');
  await press(page, 'Enter');
  await expect(here.getByRole('textbox')).toHaveCount(0);
  await press(page, 'ArrowRight');
  await page.keyboard.type('1');
  await expect(here.getByRole('textbox')).toHaveValue('1');
  await page.keyboard.type(',0');
  await press(page, 'Enter');
  await expectNumbers(grid(here, 'o'), bank.experiments.river_says_money.expected.output[1]);
  await press(page, 'Control+z', 'Control+z');
  await expectNumbers(grid(here, 'o'), bank.expected.output[1]);
});

test('an experiment, its undo and another asker by keyboard alone', async ({ page }) => {
  const here = await open(page, 'bank');
  await tabTo(page, here.getByRole('radio', { name: 'bank' }));
  await press(page, 'ArrowRight');
  await expectNumbers(grid(here, 'o'), bank.expected.output[2]);
  await press(page, 'ArrowLeft');
  await tabTo(page, here.getByRole('button', { name: 'Query zero' }));
  await press(page, 'Enter');
  await expectNumbers(grid(here, 'o'), bank.experiments.query_zero.expected.output[1]);
  await tabTo(page, undo(page), 'Shift+Tab');
  await press(page, 'Space');
  await expectNumbers(grid(here, 'o'), bank.expected.output[1]);
});

test('an entry that ends as no number leaves the number that was there', async ({ page }) => {
  const here = await open(page, 'bank');
  await cell(grid(here, 'V'), 0, 0).click();
  await page.keyboard.type('7/x');
  await expect(here.getByRole('textbox')).toHaveAttribute('aria-invalid', 'true');
  await press(page, 'Enter');
  await expectNumbers(grid(here, 'V'), bank.v.flat());
});

test('a bad entry is marked and the last good number stays in use', async ({ page }) => {
  const here = await open(page, 'bank');
  await cell(grid(here, 'V'), 0, 0).click();
  const field = here.getByRole('textbox');
  await field.fill('banana');
  await expect(field).toHaveAttribute('aria-invalid', 'true');
  await expectNumbers(grid(here, 'o'), bank.expected.output[1]);
  await press(page, 'Escape');
  await expectNumbers(grid(here, 'V'), bank.v.flat());
});

test('the live region says which query meets which key', async ({ page }) => {
  const here = await open(page, 'bank');
  await cell(grid(here, 'a'), 0, 2).focus();
  await expect(said(page)).toContainText('bank → river 0.62');
});
