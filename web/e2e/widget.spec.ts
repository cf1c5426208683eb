// The panel of a notebook shows what the engine says, follows its kernel, and leaves the notebook alone.
import { readFileSync } from 'node:fs';
import AxeBuilder from '@axe-core/playwright';
import { expect, test, type Locator, type Page } from '@playwright/test';
import { heads, openNotebook } from './notebook';
import { expectNumbers, explained, grid, press, rowsOf, said, slider, type Answer } from './reading';

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

async function expectHead(panel: Locator, document: Answer, head: number) {
  for (const [symbol, name, decimals] of [['Q', 'q', 2], ['K', 'k', 2], ['V', 'v', 2], ['A', 'p', 3], ['O', 'o', 2]] as const)
    await expectNumbers(grid(panel, symbol).first(), rowsOf(document, name, head).flat(), decimals);
}

test('it shows the engine\'s matrices of a head, hidden pairs hatched, and asks no network', async ({ page }) => {
  const [first, second] = await heads(page);
  const { panel, problems } = await openNotebook(page, [first!, second!]);
  await expectHead(panel, first!.document, 0);
  await expect(grid(panel, 'A').first().locator('td.is-masked')).toHaveCount(10);
  expect(problems.filter((one) => !one.startsWith('http://notebook.test/lab/tree/'))).toEqual([]);
});

test('another head is chosen by the keyboard and comes from the kernel', async ({ page }) => {
  const all = await heads(page);
  const { panel } = await openNotebook(page, all);
  await slider(panel, 'Head').focus();
  await press(page, 'ArrowRight');
  await expectHead(panel, all[1]!.document, 1);
  await expect(panel.getByText('Asking the kernel')).toHaveCount(0);
});

test('a kernel that does not answer is said to be silent, and the picture stays', async ({ page }) => {
  const all = await heads(page);
  const { panel } = await openNotebook(page, all, { isSilent: true });
  await slider(panel, 'Head').focus();
  await press(page, 'ArrowRight');
  await expect(panel.getByText('Asking the kernel')).toBeVisible();
  await expectHead(panel, all[0]!.document, 0);
});

test('what the engine says against a head is shown', async ({ page }) => {
  const [first] = await heads(page);
  const { panel } = await openNotebook(page, [first!, { error: 'batch 0, head 1: there is <b>none</b>' }]);
  await slider(panel, 'Head').focus();
  await press(page, 'ArrowRight');
  await expect(panel.getByRole('alert')).toHaveText('The engine says: batch 0, head 1: there is <b>none</b>');
});

test('a matrix is walked by keys that the notebook does not hear, and a row that is kept is the one below', async ({ page }) => {
  const { panel } = await openNotebook(page, await heads(page));
  await grid(panel, 'A').first().getByRole('gridcell').first().focus();
  await press(page, 'ArrowDown', 'Enter');
  await expect(said(page)).toContainText('stays lit');
  await expect(panel.getByRole('heading', { name: /^What query .* reads/ })).toContainText('cat');
  expect(await page.evaluate(() => (globalThis as any).pressed)).toEqual([]);
});

test('a matrix is saved from the menu, with the notebook\'s place but not its token', async ({ page }) => {
  const { panel } = await openNotebook(page, await heads(page));
  await panel.getByRole('button', { name: 'Save A as a file' }).first().click();
  await press(page, 'ArrowDown', 'ArrowDown', 'ArrowDown');
  await expect(page.getByRole('menuitem', { name: /^JSON/ })).toBeFocused();
  const saved = page.waitForEvent('download');
  await press(page, 'Enter');
  const { provenance, values } = JSON.parse(readFileSync(await (await saved).path(), 'utf8'));
  expect(provenance).toMatchObject({ part: 'notebook', address: 'http://notebook.test/lab/tree/mine.ipynb', select: { head: 0 } });
  expect(values).toHaveLength(5);
});

test('many numbers are pictures, that a reader walks through', async ({ page }) => {
  const rows = (shift: number) => Array.from({ length: 40 }, (_, i) => [Math.sin(i + shift), Math.cos(i * shift)]);
  const document = await explained(page, { q: rows(1), k: rows(2), v: rows(3), causal: true });
  const { panel } = await openNotebook(page, [{ document }]);
  await expect(panel.getByRole('application')).toHaveCount(6);
  await panel.getByRole('application', { name: /^A: weights, 40×40/ }).focus();
  await press(page, 'ArrowDown');
  await expect(said(page)).toHaveText(`A: 1 → 0 = ${rowsOf(document, 'p')[1]![0]!.toFixed(4)}`);
});

test('on a phone nothing is wider than the screen', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  const rows = (count: number) => Array.from({ length: count }, (_, i) => Array.from({ length: 32 }, (_, j) => Math.sin(i * j)));
  const document = await explained(page, { q: rows(20), k: rows(40), v: rows(40) });
  const { panel } = await openNotebook(page, [{ document }]);
  await expect(panel.getByRole('application')).toHaveCount(6);
  expect(await page.evaluate(() => globalThis.document.documentElement.scrollWidth)).toBe(390);
});

const background = (page: Page) => page.locator('#cell').evaluate((cell) => getComputedStyle(cell).backgroundColor);
const [LIGHT, DARK] = ['rgb(251, 249, 245)', 'rgb(20, 19, 18)'];

test('it is as light or dark as the notebook, and as the reader chooses', async ({ page }) => {
  const { panel } = await openNotebook(page, await heads(page), { theme: 'dark' });
  await expect.poll(() => background(page)).toBe(DARK);
  await page.evaluate(() => (document.body.dataset['jpThemeLight'] = 'true'));
  await expect.poll(() => background(page)).toBe(LIGHT);
  await panel.getByRole('combobox').selectOption('dark');
  await expect.poll(() => background(page)).toBe(DARK);
});

test('it speaks Portuguese', async ({ page }) => {
  const { panel } = await openNotebook(page, await heads(page));
  await panel.getByRole('button', { name: 'Português' }).click();
  await expect(panel).toHaveAttribute('aria-label', 'Atenção, cada número dela');
  await expect(slider(panel, 'Cabeça')).toBeVisible();
});

for (const theme of ['light', 'dark'] as const)
  test(`nothing keeps a reader out, ${theme}`, async ({ page }) => {
    const { panel } = await openNotebook(page, await heads(page), { theme });
    await expect(grid(panel, 'O').first()).toBeVisible();
    const { violations } = await new AxeBuilder({ page }).withTags(RULES).analyze();
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ target }) => target)])).toEqual([]);
  });

test('taken away it leaves nothing behind, and may come back to the same place', async ({ page }) => {
  const { panel } = await openNotebook(page, await heads(page));
  await expect(panel).toBeVisible();
  await page.evaluate(() => (globalThis as any).takeAway());
  await expect(panel).toHaveCount(0);
  await page.evaluate(() => (globalThis as any).show());
  await expect(panel).toHaveCount(1);
});
