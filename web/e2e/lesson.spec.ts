// Parts 3 and 5 as a reader uses them, held to the lesson's numbers.
import { expect, test } from '@playwright/test';
import { expectNumbers, grid, lesson, numbersOf, part } from './lesson_numbers';

const bank = lesson('bank');
const running = lesson('running');

test.describe('by hand', () => {
  test('the four steps of bank are the lesson\'s', async ({ page }) => {
    await page.goto('./');
    const here = part(page, 'bank');
    await expectNumbers(grid(here, 'q·k'), bank.expected.raw[1]);
    await expectNumbers(grid(here, 's'), bank.expected.scaled[1]);
    await expectNumbers(grid(here, 'a'), bank.expected.weights[1]);
    await expectNumbers(grid(here, 'o'), bank.expected.output[1]);
    await expect(here.getByTestId('bank-answer')).toHaveText('Answer: [0.85, 0.15]');
  });

  for (const [button, key] of [
    ['River says money', 'river_says_money'],
    ['Query [1, 0]', 'query_1_0'],
    ['Query zero', 'query_zero'],
  ] as const)
    test(`the experiment "${button}" gives the lesson's weights and answer, and undo takes it back`, async ({ page }) => {
      await page.goto('./');
      const here = part(page, 'bank');
      await here.getByRole('button', { name: button }).click();
      await expectNumbers(grid(here, 'a'), bank.experiments[key].expected.weights[1]);
      await expectNumbers(grid(here, 'o'), bank.experiments[key].expected.output[1]);
      await page.getByRole('button', { name: 'Undo' }).click();
      await expectNumbers(grid(here, 'o'), bank.expected.output[1]);
    });

  test('a number is edited by keyboard alone, with a comma too, and each key press counts', async ({ page }) => {
    await page.goto('./');
    const here = part(page, 'bank');
    await grid(here, 'V').getByRole('gridcell').first().focus();
    await page.keyboard.press('Control+End');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.type('0');
    await expect(here.getByRole('textbox')).toHaveValue('0');
    await page.keyboard.press('Enter');
    await expect(here.getByRole('textbox')).toHaveCount(0);
    await page.keyboard.press('ArrowRight');
    await page.keyboard.type('1');
    await expect(here.getByRole('textbox')).toHaveValue('1');
    await page.keyboard.type(',0');
    await page.keyboard.press('Enter');
    await expectNumbers(grid(here, 'o'), bank.experiments.river_says_money.expected.output[1]);
  });

  test('a bad entry is marked and the last good number stays in use', async ({ page }) => {
    await page.goto('./');
    const here = part(page, 'bank');
    await grid(here, 'V').getByRole('gridcell').first().click();
    const field = here.getByRole('textbox');
    await field.fill('banana');
    await expect(field).toHaveAttribute('aria-invalid', 'true');
    await expectNumbers(grid(here, 'o'), bank.expected.output[1]);
    await page.keyboard.press('Escape');
    await expectNumbers(grid(here, 'V'), bank.v.flat());
  });

  test('the live region says which query meets which key', async ({ page }) => {
    await page.goto('./');
    await grid(part(page, 'bank'), 'a').getByRole('gridcell').nth(2).focus();
    await expect(page.getByTestId('live')).toContainText('bank → river 0.62');
  });
});

test.describe('the running example', () => {
  test('every row of a head is the lesson\'s, with and without the mask and the division', async ({ page }) => {
    await page.goto('./#part=running');
    const here = part(page, 'running');
    const [head] = running.heads;
    await expectNumbers(grid(here, 'A'), head.full.weights.flat(), 3);
    await here.getByRole('switch', { name: 'Causal mask' }).click({ force: true });
    await expectNumbers(grid(here, 'A'), head.causal.weights.flat(), 3);
    await here.getByRole('switch', { name: 'Causal mask' }).click({ force: true });
    await here.getByRole('switch', { name: /Divide/ }).click({ force: true });
    await expect.poll(async () => (await numbersOf(grid(here, 'A'))).slice(-5)).toEqual([0.002, 0.012, 0.707, 0.275, 0.003]);
  });

  test('the second head has its own weights', async ({ page }) => {
    await page.goto('./');
    const here = part(page, 'running');
    await here.getByText('head 2').click();
    await expectNumbers(grid(here, 'A'), running.heads[1].full.weights.flat(), 3);
  });
});
