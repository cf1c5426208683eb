// Part 5: a whole layer on the running example, held to the lesson's numbers.
import { expect, test, type Locator } from '@playwright/test';
import { cell, choose, expectNumbers, grid, lesson, numbersOf, open, press, rounded, said, tabTo, toggle, undo } from './reading';

const running = lesson('running');
const [first, second] = running.heads;
const LAST = 4;

/** The rows of S: what the mask hides is −∞ and is hatched. */
async function expectHidden(scores: Locator, count: number) {
  await expect(scores.locator('.is-masked')).toHaveCount(count);
}

test('the norm and the projections are the lesson\'s, head by head', async ({ page }) => {
  const here = await open(page, 'running');
  await expectNumbers(grid(here, 'X'), running.x.flat());
  await expectNumbers(grid(here, 'μ'), [0, 0, 0, 0, 0]);
  await expectNumbers(grid(here, 'σ'), running.sigma);
  await expectNumbers(grid(here, 'U'), running.u.flat());
  for (const [option, head] of [['head 1', first], ['head 2', second]] as const) {
    await choose(here, option);
    for (const name of ['q', 'k', 'v'] as const) await expectNumbers(grid(here, name.toUpperCase()), head[name].flat());
    await expectNumbers(grid(here, 'S'), head.full.scaled.flat());
    await expectNumbers(grid(here, 'A'), head.full.weights.flat(), 3);
    await expectNumbers(grid(here, 'O'), head.full.output.flat());
  }
});

test('the causal mask hides what comes later, and does not change the last row', async ({ page }) => {
  const here = await open(page, 'running');
  const weights = grid(here, 'A');
  await expectNumbers(weights, first.full.weights.flat(), 3);
  await expect(here).toContainText('gives 0.66 of its attention to “␣climb”');
  const before = (await numbersOf(weights)).slice(-5);
  await toggle(here, 'Causal mask');
  await expectNumbers(weights, first.causal.weights.flat(), 3);
  await expectNumbers(grid(here, 'O'), first.causal.output.flat());
  await expectHidden(grid(here, 'S'), 10);
  await expectHidden(weights, 10);
  expect((await numbersOf(weights)).slice(-5)).toEqual(before);
  await undo(page).click();
  await expectNumbers(weights, first.full.weights.flat(), 3);
});

test('without the division the largest weight grows', async ({ page }) => {
  const here = await open(page, 'running');
  await toggle(here, /^Divide/);
  await expectNumbers(grid(here, 'A'), first.unscaled.weights.flat(), 3);
  expect((await numbersOf(grid(here, 'A'))).slice(-5)).toEqual(running.page_prints.weights_last_unscaled);
  await toggle(here, /^Divide/);
  expect(running.page_prints.weights_last).toEqual(first.full.weights[LAST].map((weight: number) => rounded(weight, 3)));
  await expectNumbers(grid(here, 'A'), first.full.weights.flat(), 3);
});

test('the last token gives 94 % to the verb that was cut in two', async ({ page }) => {
  const here = await open(page, 'running');
  await expect(here.getByTestId('running-looks')).toHaveText(
    '“␣the” looks most at “␣climb” with 0.62 and “ed” with 0.32; the two together take 0.94.',
  );
  await choose(here, '␣cat');
  await expect(here.getByTestId('running-looks')).toContainText('“␣cat” looks most at');
  await expect(grid(here, 'Q').locator('tbody tr.is-lit th')).toHaveText('␣cat');
});

test('both heads stand side by side when they are merged', async ({ page }) => {
  const here = await open(page, 'running');
  await choose(here, 'both, merged');
  await expectNumbers(grid(here, 'A₁'), first.full.weights.flat(), 3);
  await expectNumbers(grid(here, 'A₂'), second.full.weights.flat(), 3);
  const merged = first.full.output.flatMap((row: number[], at: number) => [...row, ...second.full.output[at]]);
  await expectNumbers(grid(here, 'M'), merged);
});

test('pointing at a number moves nothing', async ({ page }) => {
  const here = await open(page, 'running');
  const places = () =>
    here.getByRole('grid').evaluateAll((all) => all.map((one) => Object.values(one.getBoundingClientRect().toJSON() as object)));
  await grid(here, 'K').scrollIntoViewIfNeeded();
  const before = await places();
  for (const row of running.tokens.keys()) {
    await cell(grid(here, 'K'), row, 1).hover();
    await expect(grid(here, 'K').locator('tbody tr').nth(row)).toHaveClass(/is-lit/);
    expect(await places()).toEqual(before);
  }
});

test('by keyboard alone', async ({ page }) => {
  const here = await open(page, 'running');
  await tabTo(page, here.getByRole('radio', { name: 'head 1' }));
  await press(page, 'ArrowRight');
  await expectNumbers(grid(here, 'A'), second.full.weights.flat(), 3);
  await press(page, 'ArrowLeft');
  await tabTo(page, here.getByRole('switch', { name: 'Causal mask' }));
  await press(page, 'Space');
  await expectNumbers(grid(here, 'A'), first.causal.weights.flat(), 3);
  await tabTo(page, here.getByRole('switch', { name: /^Divide/ }));
  await press(page, 'Space', 'Space');
  await tabTo(page, cell(grid(here, 'A'), 0, 0));
  await press(page, 'ArrowRight');
  await expect(said(page)).toHaveText('A: the → ␣cat hidden by the mask');
  await press(page, 'Control+End', 'Enter');
  await expect(cell(grid(here, 'A'), LAST, LAST)).toHaveClass(/is-pinned/);
  await press(page, 'Home', 'Shift+Enter');
  await expect(cell(grid(here, 'A'), LAST, 0)).toHaveClass(/is-compared/);
  await press(page, 'Escape');
  await expect(here.locator('.is-pinned, .is-compared')).toHaveCount(0);
});
