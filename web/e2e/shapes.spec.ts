// Part 6: the shape of every matrix, and which mistake is behind a wrong one.
import { expect, test, type Locator, type Page } from '@playwright/test';
import { explained, open, press, rested, tabTo, undo } from './reading';

const shapeOf = (here: Locator, line: string) => here.locator(`tr[data-line=${line}] input`);
const sizeOf = (here: Locator, name: string) => here.getByRole('textbox', { name: new RegExp(`^${name}: `) });
const verdict = (here: Locator) => here.getByTestId('shapes-verdict');
const written = (shape: readonly number[]) => `[${shape.join(', ')}]`;

/** Every line of the table is the engine's, asked beside the page. */
async function expectTable(page: Page, here: Locator, request: Readonly<Record<string, unknown>>) {
  const { lines } = await explained(page, { op: 'shapes', ...request });
  for (const line of lines as readonly { name: string; shape: number[]; full_shape: number[]; meaning: { en: string } }[]) {
    await expect(shapeOf(here, line.name)).toHaveValue(written(line.shape));
    await expect(here.locator(`tr[data-line=${line.name}]`)).toContainText(written(line.full_shape));
    await expect(here.locator(`tr[data-line=${line.name}]`)).toContainText(line.meaning.en);
  }
  await expect(here.locator('tr[data-line]')).toHaveCount(lines.length);
}

/** The verdict names the line, both shapes and the mistake, as the engine does. */
async function expectBroken(page: Page, here: Locator, request: Readonly<Record<string, unknown>>) {
  const { broken } = await explained(page, { op: 'shapes', ...request });
  for (const said of [broken.expected, broken.found, broken.mistake.en]) await expect(verdict(here)).toContainText(said);
  await expect(here.locator(`tr.is-broken`).first()).toHaveAttribute('data-line', broken.line);
}

for (const [button, preset] of [
  ['the toy of part 5', 'toy'],
  ['GPT-2 small', 'gpt2_small'],
  ['grouped heads', 'grouped'],
] as const)
  test(`${button}: every shape is the engine's, and fits`, async ({ page }) => {
    const here = await open(page, 'shapes');
    await here.getByRole('button', { name: button }).click();
    await expectTable(page, here, { preset });
    await expect(verdict(here)).toHaveText('Every shape fits.');
  });

test('a size is changed and the shapes follow; an empty field follows again', async ({ page }) => {
  const here = await open(page, 'shapes');
  await sizeOf(here, 'n').fill('7');
  await sizeOf(here, 'D').fill('3');
  await expectTable(page, here, { preset: 'toy', n: 7, D: 3 });
  await sizeOf(here, 'D').fill('');
  await sizeOf(here, 'n').fill('');
  await expectTable(page, here, { preset: 'toy' });
});

test('a bad size is marked and the last good one stays in use', async ({ page }) => {
  const here = await open(page, 'shapes');
  await sizeOf(here, 'n').fill('7');
  await sizeOf(here, 'n').fill('many');
  await expect(sizeOf(here, 'n')).toHaveAttribute('aria-invalid', 'true');
  await expect(here.getByRole('alert')).toContainText('a whole number');
  await expect(shapeOf(here, 'x')).toHaveValue('[7, 4]');
});

for (const [button, found] of [
  ['forget to split the heads', { q: [5, 4] }],
  ['transpose K', { k: [2, 5] }],
  ['pad V but not K', { v: [8, 2] }],
  ['average the heads', { merged: [5, 2] }],
] as const)
  test(`"${button}" breaks a line, and the engine says which mistake it is`, async ({ page }) => {
    const here = await open(page, 'shapes');
    await here.getByRole('button', { name: button }).click();
    await expectBroken(page, here, { preset: 'toy', found });
    await rested(page, /shapes\.found=/);
    await here.getByRole('button', { name: 'Repair all' }).click();
    await expect(verdict(here)).toHaveText('Every shape fits.');
    await undo(page).click();
    await expectBroken(page, here, { preset: 'toy', found });
  });

test('a key matrix as wide as the query\'s breaks where heads are grouped', async ({ page }) => {
  const here = await open(page, 'shapes');
  await expect(here.getByRole('button', { name: 'make W_K as wide as W_Q' })).toHaveCount(0); // no mistake in the toy
  await here.getByRole('button', { name: 'grouped heads' }).click();
  await here.getByRole('button', { name: 'make W_K as wide as W_Q' }).click();
  const { sizes } = await explained(page, { op: 'shapes', preset: 'grouped' });
  await expectBroken(page, here, { preset: 'grouped', found: { wk: [sizes.C, sizes.heads * sizes.D] } });
});

test('a shape is typed as a program prints it, for one head or in memory', async ({ page }) => {
  const here = await open(page, 'shapes');
  await shapeOf(here, 's').fill('torch.Size([5, 4])');
  await expect(verdict(here)).toHaveClass(/is-broken/);
  await here.getByRole('button', { name: 'Repair all' }).click();
  await shapeOf(here, 'q').fill('(1, 2, 5, 2)');
  await expect(verdict(here)).toHaveText('Every shape fits.');
  await shapeOf(here, 'q').fill('five by two');
  await expect(here.getByRole('alert')).toContainText('“five by two” is no shape');
});

test('by keyboard alone', async ({ page }) => {
  const here = await open(page, 'shapes');
  await tabTo(page, here.getByRole('button', { name: 'GPT-2 small' }));
  await press(page, 'Enter');
  await expectTable(page, here, { preset: 'gpt2_small' });
  await tabTo(page, sizeOf(here, 'n'));
  await page.keyboard.type('9'); // Tab selects what is there
  await expectTable(page, here, { preset: 'gpt2_small', n: 9 });
  await tabTo(page, shapeOf(here, 'k'));
  await page.keyboard.type('64, 9');
  await expectBroken(page, here, { preset: 'gpt2_small', n: 9, found: { k: [64, 9] } });
  await tabTo(page, here.getByRole('button', { name: 'Repair all' }), 'Shift+Tab');
  await press(page, 'Space');
  await expect(verdict(here)).toHaveText('Every shape fits.');
  await tabTo(page, here.getByRole('button', { name: 'transpose K' }));
  await press(page, 'Enter');
  await expect(verdict(here)).toHaveClass(/is-broken/);
});
