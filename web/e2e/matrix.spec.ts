// Part 7: the whole matrix of a sentence, beside what the engine draws of the same scores.
import { expect, test, type Locator, type Page } from '@playwright/test';
import { sentence } from '../src/parts/matrix_sentence';
import { choose, explained, open, press, rested, rowsOf, said, slider, tableNumbers, tabTo, toggle, undo, type Answer } from './reading';

interface Drawn {
  readonly n?: number;
  readonly d_k?: number;
  readonly seed?: number;
  readonly function?: string;
  readonly mix?: readonly number[];
  readonly divide?: boolean;
}

/** The engine's document of the scores that the page shows. */
function drawn(page: Page, { n = 24, d_k = 64, seed = 1, function: name = 'content', divide = true, mix }: Drawn): Promise<Answer> {
  return explained(page, {
    op: 'scores', n, d_k, seed, function: name, divide, targets: sentence('en', n).targets, ...(mix ? { mix } : {}),
  });
}

const short = (value: number, digits = 3) => String(Number(value.toPrecision(digits))).replace('-', '−');
const map = (here: Locator) => here.getByRole('application');
const width = (here: Locator) => slider(here, /^d_k/);
const table = (here: Locator, label: string) => here.getByRole('region', { name: label, exact: true });

/** The law, the means of the rows and the weights are the engine's. */
async function expectDrawn(page: Page, here: Locator, request: Drawn) {
  const answer = await drawn(page, request);
  const { noise, all, expected, scaled } = answer.deviation;
  const law =
    noise === null
      ? `Spread of all scores: ${short(all)}. √d_k = ${short(expected)}.`
      : `Standard deviation of the noise, measured: ${short(noise)}. √d_k = ${short(expected)}.`;
  await expect(here.getByTestId('matrix-law')).toHaveText(`${law} What enters the softmax has a spread of ${short(scaled)}.`);
  const means = here.getByTestId('matrix-rows').locator('b');
  await expect(means).toHaveText(
    ['largest', 'entropy', 'gradient'].map((name) => `mean of the rows ${answer.means[name].toFixed(3)}`),
  );
  const { tokens } = sentence('en', request.n ?? 24);
  const weights = rowsOf(answer, 'p');
  const at = Math.floor(weights.length / 2);
  await map(here).focus();
  await press(page, 'Control+Home', ...Array<string>(at).fill('ArrowDown'), 'ArrowRight');
  await expect(here.getByTestId('matrix-note')).toHaveText(
    `“${tokens[at]}” looks at “${tokens[1]}” with ${(weights[at]?.[1] ?? NaN).toFixed(3)}`,
  );
  return answer;
}

test('the matrix of a sentence is the one that the engine draws', async ({ page }) => {
  await expectDrawn(page, await open(page, 'matrix'), {});
});

for (const [option, name] of [
  ['the token before', 'previous'],
  ['distance', 'decay'],
] as const)
  test(`scores that look at ${option}`, async ({ page }) => {
    const here = await open(page, 'matrix');
    await choose(here, option);
    await expectDrawn(page, here, { function: name });
  });

test('a mix has three weights', async ({ page }) => {
  const here = await open(page, 'matrix');
  await choose(here, 'a mix');
  await expectDrawn(page, here, { function: 'mix', mix: [1, 0.5, 0.5] });
  await slider(here, 'content').fill('0.25');
  await slider(here, 'the token before').fill('2');
  await slider(here, 'distance').fill('0');
  await expectDrawn(page, here, { function: 'mix', mix: [0.25, 2, 0] });
});

test('undivided scores of width 128 spread by 11.3, saturate and let no gradient through; divided ones do not', async ({ page }) => {
  const here = await open(page, 'matrix', 'matrix.n=64');
  await width(here).fill('128');
  await rested(page, /matrix\.d=128/);
  const divided = await expectDrawn(page, here, { n: 64, d_k: 128 });
  await toggle(here, /^divide/);
  const undivided = await expectDrawn(page, here, { n: 64, d_k: 128, divide: false });
  expect(Math.abs(undivided.deviation.noise - Math.sqrt(128))).toBeLessThan(0.5);
  expect(undivided.means.largest).toBeGreaterThan(0.9);
  expect(undivided.means.gradient).toBeLessThan(0.1);
  expect(divided.means.gradient).toBeGreaterThan(0.4);
  await undo(page).click();
  await expectDrawn(page, here, { n: 64, d_k: 128 });
});

test('a new draw has other numbers and the same law; more tokens make a larger matrix', async ({ page }) => {
  const here = await open(page, 'matrix');
  await here.getByRole('button', { name: 'New draw' }).click();
  await expectDrawn(page, here, { seed: 2 });
  await slider(here, 'Tokens').fill('40');
  await expectDrawn(page, here, { seed: 2, n: 40 });
  await expect(map(here)).toHaveAttribute('aria-label', /40×40/);
});

test('the tables beside the pictures hold what the engine computed', async ({ page }) => {
  const here = await open(page, 'matrix', 'matrix.n=8&matrix.d=16');
  const answer = await drawn(page, { n: 8, d_k: 16 });
  const weights = rowsOf(answer, 'p');
  for (const summary of await here.getByText(/^As a table: /).all()) await summary.click();
  const four = (values: readonly number[]) => values.map((value) => Number(value.toPrecision(4)));
  await expect.poll(() => tableNumbers(table(here, 'A: weights'))).toEqual(four(weights.flat()));
  await expect.poll(() => tableNumbers(table(here, 'The scores before any division'))).toEqual(answer.histogram.counts);
  const { largest, entropy, gradient } = answer.rows;
  const measured = largest.flatMap((value: number, row: number) => [value, entropy[row], gradient[row]]);
  await expect.poll(() => tableNumbers(table(here, 'Largest weight, Entropy, Gradient let through'))).toEqual(four(measured));
  for (const row of weights) expect(Math.abs(row.reduce((sum, weight) => sum + weight, 0) - 1)).toBeLessThan(1e-12);
});

test('a click keeps a row, Escape lets it go', async ({ page }) => {
  const here = await open(page, 'matrix', 'matrix.n=8');
  const box = await map(here).boundingBox();
  if (!box) throw new Error('the map is not on the screen');
  await map(here).click({ position: { x: (box.width * 1.5) / 8, y: (box.height * 2.5) / 8 } });
  await here.getByRole('heading', { level: 2 }).hover();
  const { tokens } = sentence('en', 8);
  await expect(here.getByTestId('matrix-note')).toContainText(`“${tokens[2]}” looks at “${tokens[1]}”`);
  await page.keyboard.press('Escape');
  await expect(here.getByTestId('matrix-note')).toContainText('Point at the map');
});

test('by keyboard alone', async ({ page }) => {
  const here = await open(page, 'matrix');
  await tabTo(page, here.getByRole('radio', { name: 'content' }));
  await press(page, 'ArrowRight', 'ArrowRight', 'ArrowRight');
  await tabTo(page, slider(here, 'distance'));
  await press(page, 'Home');
  await tabTo(page, width(here));
  await press(page, 'End');
  await tabTo(page, here.getByRole('switch', { name: /^divide/ }));
  await press(page, 'Space');
  await tabTo(page, slider(here, 'Tokens'));
  await press(page, 'Home', 'ArrowRight');
  await tabTo(page, here.getByRole('button', { name: 'New draw' }));
  await press(page, 'Enter');
  await tabTo(page, map(here));
  const request = { n: 5, d_k: 256, seed: 2, function: 'mix', mix: [1, 0.5, 0], divide: false };
  const answer = await expectDrawn(page, here, request);
  await press(page, 'Control+End', 'Enter', 'Home');
  const { tokens } = sentence('en', request.n);
  const weight = rowsOf(answer, 'p')[4]?.[0] ?? NaN;
  await expect(said(page)).toHaveText(`“${tokens[4]}” looks at “${tokens[0]}” with ${weight.toFixed(3)}`);
  await press(page, 'Escape');
  await expect(here.getByTestId('matrix-note')).toContainText('Point at the map');
});
