// Part 2: query, key and value, and the chain from X to O on the numbers of part 3.
import { expect, test, type Locator } from '@playwright/test';
import { cell, choose, expectNumbers, grid, lesson, open, part, press, tabTo, undo } from './reading';

const bank = lesson('bank');
const lit = (found: Locator) => found.locator('tbody tr.is-lit th');

test('every matrix of the chain is the lesson\'s', async ({ page }) => {
  const here = await open(page, 'projections');
  for (const [symbol, expected] of [['Q', bank.q], ['K', bank.k], ['V', bank.v]] as const)
    await expectNumbers(grid(here, symbol), expected.flat());
  await expectNumbers(grid(here, 'S'), bank.expected.scaled.flat());
  await expectNumbers(grid(here, 'A'), bank.expected.weights.flat());
  await expectNumbers(grid(here, 'O'), bank.expected.output.flat());
});

test('who asks lights one row of Q, S, A and O, and what it reads is said', async ({ page }) => {
  const here = await open(page, 'projections');
  await expect(here.getByTestId('projections-reads')).toHaveText('bank reads 0.07 of sat + 0.31 of bank + 0.62 of river.');
  await choose(here, 'river');
  const parts = bank.page_prints.weights[2].map((weight: number, key: number) => `${weight} of ${bank.tokens.en[key]}`);
  await expect(here.getByTestId('projections-reads')).toHaveText(`river reads ${parts.join(' + ')}.`);
  for (const symbol of ['Q', 'S', 'A', 'O']) await expect(lit(grid(here, symbol)), symbol).toHaveText('river');
  await undo(page).click();
  await expect(here.getByTestId('projections-reads')).toContainText('bank reads');
});

test('the chain grows a step at a time', async ({ page }) => {
  const here = await open(page, 'projections');
  await choose(here, 'S');
  await expect(here.getByTestId('projections-step')).toContainText('Here tokens meet for the first time');
  await expect(here.getByTestId('projections-reads')).toBeEmpty();
  await expect(here.locator('.chain-s')).not.toHaveClass(/is-ahead/);
  await expect(here.locator('.chain-a')).toHaveClass(/is-ahead/);
  await choose(here, 'O');
  await expect(here.locator('.is-ahead')).toHaveCount(0);
});

test('pointing at a weight lights its row of Q and its rows of K and V; a click pins them, Escape lets go', async ({ page }) => {
  const here = await open(page, 'projections');
  const weight = cell(grid(here, 'A'), 0, 2); // sat reads river
  await weight.hover();
  await expect(lit(grid(here, 'K'))).toHaveText('river');
  await expect(lit(grid(here, 'V'))).toHaveText('river');
  await expect(lit(grid(here, 'Q'))).toHaveText(['sat', 'bank']); // bank asks all the while
  await weight.click();
  await here.getByRole('heading', { level: 2 }).hover();
  await expect(lit(grid(here, 'K'))).toHaveText('river');
  await cell(grid(here, 'A'), 2, 0).click({ modifiers: ['Shift'] });
  await expect(cell(grid(here, 'A'), 2, 0)).toHaveClass(/is-compared/);
  await expect(weight).toHaveClass(/is-pinned/);
  await page.keyboard.press('Escape');
  await here.getByRole('heading', { level: 2 }).hover();
  await expect(lit(grid(here, 'K'))).toHaveCount(0);
  await expect(here.locator('.is-pinned, .is-compared')).toHaveCount(0);
});

test('each word of the sentence asks, advertises and delivers something of its own', async ({ page }) => {
  const here = await open(page, 'projections');
  const speaks = here.locator('.speaks dd');
  await expect(speaks).toHaveText([/a noun/, /pronoun/, /gathered/]);
  await here.getByRole('button', { name: 'animal' }).click();
  await expect(speaks).toHaveText([/said about me/, /I am a noun/, /an animal/]);
});

test('an edit in part 3 is seen here', async ({ page }) => {
  await page.goto('./');
  await part(page, 'bank').getByRole('button', { name: 'Query zero' }).click();
  await expect(part(page, 'projections').getByTestId('projections-reads')).toHaveText(
    'bank reads 0.33 of sat + 0.33 of bank + 0.33 of river.',
  );
});

test('by keyboard alone', async ({ page }) => {
  const here = await open(page, 'projections');
  await tabTo(page, here.getByRole('button', { name: 'tired' }));
  await press(page, 'Space');
  await expect(here.locator('.speaks dd').first()).toContainText('who is in this state');
  await tabTo(page, here.getByRole('radio', { name: 'bank' }));
  await press(page, 'ArrowLeft');
  await expect(here.getByTestId('projections-reads')).toContainText('sat reads 0.45 of sat');
  await tabTo(page, here.getByRole('radio', { name: 'O', exact: true }));
  await press(page, 'ArrowLeft', 'ArrowLeft', 'ArrowLeft');
  await expect(here.getByTestId('projections-step')).toContainText('projected three times');
  await press(page, 'ArrowRight', 'ArrowRight', 'ArrowRight');
  const weights = grid(here, 'A');
  await tabTo(page, cell(weights, 0, 0));
  await press(page, 'Control+End', 'Enter'); // river reads river: pinned
  await expect(cell(weights, 2, 2)).toHaveClass(/is-pinned/);
  await press(page, 'Home', 'Shift+Enter');
  await expect(cell(weights, 2, 0)).toHaveClass(/is-compared/);
  await press(page, 'Escape');
  await expect(here.locator('.is-pinned, .is-compared')).toHaveCount(0);
});
