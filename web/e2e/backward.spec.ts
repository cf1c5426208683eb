// Part 8: the backward pass beside central differences, held to the lesson's numbers.
import { readFileSync } from 'node:fs';
import { expect, test, type Locator, type Page } from '@playwright/test';
import { cell, expectNumbers, explained, grid, lesson, open, press, rowsOf, shortNumber, slider, tableNumbers, tabTo, undo } from './reading';

const expected = lesson('backward');
const example = JSON.parse(readFileSync('../examples/backward.json', 'utf8'));
const STEPS = [
  ['dV', expected.dv],
  ['dA', expected.d_weights],
  ['dS', expected.d_scores],
  ['dQ', expected.dq],
  ['dK', expected.dk],
] as const;
const GRADIENTS = ['dq', 'dk', 'dv'] as const;

const chain = (here: Locator) => here.getByTestId('backward-steps');
const errorOf = async (here: Locator, gradient: string) =>
  shortNumber(((await here.getByTestId(`error-${gradient}`).textContent()) ?? '').replace(/^.*difference /, ''));
const two = (value: number) => Number(value.toPrecision(2));
const request = (changes: Readonly<Record<string, unknown>> = {}) => ({
  ...example, row: undefined, scale: 0.5, backward: true, step: 1e-6, ...changes,
});
const largest = (rows: readonly (readonly number[])[]) => Math.max(...rows.flat().map(Math.abs));

/** Every matrix of the chain is the engine's. */
async function expectChain(page: Page, here: Locator, changes: Readonly<Record<string, unknown>>) {
  const answer = await explained(page, request(changes));
  for (const [symbol, name] of [['dV', 'dv'], ['dA', 'dp'], ['dS', 'ds'], ['dQ', 'dq'], ['dK', 'dk']] as const)
    await expectNumbers(grid(chain(here), symbol), rowsOf(answer, name).flat(), 3);
  return answer;
}

test('the five products are the lesson\'s', async ({ page }) => {
  const here = await open(page, 'backward');
  await expectNumbers(grid(here, 'A').first(), expected.forward.weights.flat());
  for (const [symbol, values] of STEPS) await expectNumbers(grid(chain(here), symbol), values.flat(), 3);
  await expect(here.getByTestId('backward-badge')).toContainText('Every row of dS sums to 0');
});

test('every gradient stands beside its central differences, which agree', async ({ page }) => {
  const here = await open(page, 'backward');
  const answer = await explained(page, request());
  for (const [at, gradient] of GRADIENTS.entries()) {
    const { values, max_error: error } = answer.differences[at];
    const beside = grid(here, `d${gradient.slice(1).toUpperCase()} ≈`);
    await expectNumbers(beside, (values as number[][][][]).flat(3), 4);
    await expectNumbers(beside, expected[gradient].flat(), 4);
    expect(await errorOf(here, gradient)).toBe(two(error));
    expect(error).toBeLessThan(1e-8);
  }
});

test('the error falls with the step, meets rounding, and rises again', async ({ page }) => {
  const here = await open(page, 'backward');
  const step = slider(here, 'step h');
  const errors: number[] = [];
  for (const exponent of [-1, -5, -12]) {
    await step.fill(String(exponent));
    await expect(here.locator('output').filter({ hasText: 'h =' })).toContainText('h = ');
    const answer = await explained(page, request({ step: 10 ** exponent }));
    await expect.poll(() => errorOf(here, 'dq')).toBe(two(answer.differences[0].max_error));
    errors.push(answer.differences[0].max_error);
  }
  const [coarse = NaN, best = NaN, fine = NaN] = errors;
  expect(best).toBeLessThan(coarse / 1000);
  expect(best).toBeLessThan(fine / 1000);
});

test('the curve\'s table has the error of every step', async ({ page }) => {
  const here = await open(page, 'backward');
  const steps = Array.from({ length: 27 }, (_, index) => 10 ** (-13 + index / 2));
  const answer = await explained(page, request({ steps }));
  await here.getByText('As a table: The error against the step').click();
  const sweep = answer.sweep as readonly { readonly max_errors: Record<string, number> }[];
  const all = sweep.flatMap((one) => GRADIENTS.map((name) => Number((one.max_errors[name] ?? NaN).toPrecision(4))));
  await expect.poll(() => tableNumbers(here.getByRole('region', { name: 'The error against the step' }))).toEqual(all);
});

test('sharpened scores return nothing', async ({ page }) => {
  const here = await open(page, 'backward');
  await slider(here, 'Sharpen the scores').fill('6');
  const answer = await expectChain(page, here, { scale: 32 });
  const [weight, gradient] = [largest(rowsOf(answer, 'p')), largest(rowsOf(answer, 'ds'))];
  const said = (await here.getByTestId('backward-fading').textContent()) ?? '';
  const [, first = '', second = ''] = /^Largest weight (.*?); largest entry of dS (.*)\.$/.exec(said) ?? [];
  expect([shortNumber(first), shortNumber(second)]).toEqual([two(weight), two(gradient)]);
  expect(gradient).toBeLessThan(1e-6);
  await undo(page).click();
  await expectNumbers(grid(chain(here), 'dS'), expected.d_scores.flat(), 3);
});

test('the reader\'s own numbers go the same way, and can be undone', async ({ page }) => {
  const here = await open(page, 'backward');
  await cell(grid(here, 'dO').first(), 1, 2).click();
  await here.getByRole('textbox').fill('-2,5');
  await press(page, 'Enter');
  const changed = example.d_output.map((row: number[], i: number) => row.map((entry, j) => (i === 1 && j === 2 ? -2.5 : entry)));
  await expectChain(page, here, { d_output: changed });
  await undo(page).click();
  await expectChain(page, here, {});
});

test.describe('the code', () => {
  test.use({ permissions: ['clipboard-read', 'clipboard-write'] });
  for (const [at, file] of ['backward.py', 'backward.cc'].entries())
    test(`${file} is shown whole and copied with one click`, async ({ page }) => {
      const here = await open(page, 'backward');
      const text = readFileSync(`../examples/lesson/${file}`, 'utf8');
      await expect(here.locator('pre code').nth(at)).toHaveText(text, { useInnerText: false });
      await here.getByRole('button', { name: 'Copy' }).nth(at).click();
      await expect(here.getByRole('button', { name: 'Copied' })).toBeVisible();
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(text);
    });
});

test('by keyboard alone', async ({ page }) => {
  const here = await open(page, 'backward');
  await tabTo(page, cell(grid(here, 'Q'), 0, 0));
  await page.keyboard.type('1');
  await expect(here.getByRole('textbox')).toHaveValue('1');
  await press(page, 'Enter');
  const changed = example.q.map((row: number[], i: number) => (i === 0 ? [1, ...row.slice(1)] : row));
  await expectChain(page, here, { q: changed });
  const scores = grid(chain(here), 'dS');
  await tabTo(page, cell(scores, 0, 0));
  await press(page, 'ArrowDown', 'Enter');
  await expect(cell(scores, 1, 0)).toHaveClass(/is-pinned/);
  await press(page, 'ArrowRight', 'Shift+Enter');
  await expect(cell(scores, 1, 1)).toHaveClass(/is-compared/);
  await press(page, 'Escape');
  await expect(here.locator('.is-pinned, .is-compared')).toHaveCount(0);
  await tabTo(page, slider(here, 'step h'));
  await press(page, 'ArrowRight', 'ArrowRight');
  await expect(slider(here, 'step h')).toHaveAttribute('aria-valuetext', 'h = 1·10⁻⁵');
  await tabTo(page, slider(here, 'Sharpen the scores'));
  await press(page, 'End');
  await expectChain(page, here, { q: changed, scale: 32 });
});
