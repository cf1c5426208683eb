// What is saved is what the engine computed, at full precision, and says where it came from.
import { expect, test, type Page } from '@playwright/test';
import { explained, lesson, open, press, rowsOf, said, shortNumber, slider, tabTo, toggle } from './reading';
import { readCsv, readJson, readPng, readSvg, saved, type Provenance } from './saved';

const running = lesson('running');

function expectProvenance(found: Provenance, page: Page, part: string) {
  expect(found).toMatchObject({ engine: expect.stringMatching(/^qkv \d+\.\d+\.\d+/), part });
  expect(decodeURIComponent(found.address)).toBe(decodeURIComponent(page.url()));
  expect(Math.abs(Date.parse(found.made) - Date.now())).toBeLessThan(60_000);
}

test('A of the running example, under its mask, in all four formats', async ({ page }) => {
  const here = await open(page, 'running');
  await toggle(here, 'Causal mask');
  await expect(page).toHaveURL(/running\.causal=1/);
  const expected = rowsOf(await explained(page, { example: 'running', causal: 'top_left' }), 'p');

  const file = await saved(page, here, 'A', 'JSON');
  expect(file.name).toBe('qkv_running_A.json');
  const json = readJson(file.bytes);
  expect(json).toMatchObject({ name: 'A', rows: running.tokens, columns: running.tokens, values: expected });
  expectProvenance(json.provenance, page, 'running');
  expect(json.provenance.problem).toBe('attention B1 H2 T5 D2 causal=top_left f64');
  await expect(said(page)).toHaveText('qkv_running_A.json is saved');

  const csv = readCsv((await saved(page, here, 'A', 'CSV')).bytes);
  expect(csv).toMatchObject({ rows: running.tokens, columns: running.tokens, values: expected });
  expect(csv.from).toMatchObject({ part: 'running', address: json.provenance.address, problem: json.provenance.problem });

  const svg = await readSvg(page, (await saved(page, here, 'A', 'SVG')).bytes);
  expect(svg.root).toBe('svg');
  const isSeen = (_: number, at: number) => at % 5 <= Math.floor(at / 5); // the mask's cells are hatched, without numbers
  const numbers = svg.texts.filter((text) => /^\d\.\d{3}$/.test(text)).map(Number);
  expect(numbers.slice(-2)).toEqual([0, 1]); // the scale's ends
  expect(numbers.slice(0, -2)).toEqual(expected.flat().filter(isSeen).map((value) => Number(value.toFixed(3))));
  expectProvenance(JSON.parse(svg.metadata), page, 'running');

  const png = await readPng(page, (await saved(page, here, 'A', 'PNG')).bytes);
  expect(png.size).toEqual(svg.size.map((pixels) => 2 * pixels));
  expect(png.inked).toBeGreaterThan(0.1);
  expectProvenance(png.provenance, page, 'running');
});

test('the curve of part 8 in all four formats', async ({ page }) => {
  const here = await open(page, 'backward', 'backward.sharp=1');
  const name = 'The error against the step';
  const json = readJson((await saved(page, here, name, 'JSON')).bytes);
  expect(json.rows).toHaveLength(27);
  expect(json.columns).toEqual(['dQ', 'dK', 'dV']);
  expectProvenance(json.provenance, page, 'backward');
  expect(json.provenance.options).toMatchObject({ scale: 1 }); // twice as sharp as ½

  const csv = readCsv((await saved(page, here, name, 'CSV')).bytes);
  expect(csv).toMatchObject({ rows: json.rows, columns: json.columns, values: json.values });

  // The table on the screen has four digits of what the file has whole.
  await here.getByText(`As a table: ${name}`).click();
  const shown = await here.getByRole('region', { name }).locator('tbody td').allTextContents();
  expect(shown.map(shortNumber)).toEqual(json.values.flat().map((value) => Number(value.toPrecision(4))));

  const svg = await readSvg(page, (await saved(page, here, name, 'SVG')).bytes);
  expect(svg.root).toBe('svg');
  expect(svg.classes).toBe(0); // it stands alone, without the page's style
  expect(svg.texts).toEqual(expect.arrayContaining(['dQ', 'dK', 'dV']));
  expectProvenance(JSON.parse(svg.metadata), page, 'backward');
  const png = await readPng(page, (await saved(page, here, name, 'PNG')).bytes);
  expect(png.size).toEqual(svg.size.map((pixels) => 2 * pixels));
  expect(png.inked).toBeGreaterThan(0.005);
});

test('a large matrix is saved whole, with every digit', async ({ page }) => {
  const here = await open(page, 'matrix', 'matrix.seed=7');
  await slider(here, 'Tokens').fill('64');
  await expect(here.getByRole('application')).toHaveAttribute('aria-label', /64×64/);
  const json = readJson((await saved(page, here, 'A', 'JSON')).bytes);
  const csv = readCsv((await saved(page, here, 'A', 'CSV')).bytes);
  expect(json.rows).toHaveLength(64);
  expect(json.rows).toContain(','); // which a CSV quotes
  expect(csv).toMatchObject({ rows: json.rows, columns: json.columns, values: json.values });
  for (const row of json.values) expect(Math.abs(row.reduce((sum, weight) => sum + weight, 0) - 1)).toBeLessThan(1e-12);
  const png = await readPng(page, (await saved(page, here, 'A', 'PNG')).bytes);
  expect(png.inked).toBeGreaterThan(0.4);
});

test('every matrix and chart of every part can be saved', async ({ page }) => {
  await page.goto('./');
  await expect(page.getByTestId('matrix-law')).toBeVisible();
  const grids = page.getByRole('grid');
  await expect.poll(() => grids.count()).toBeGreaterThan(30);
  const without = await page.evaluate(() => {
    const pictures = document.querySelectorAll('[role=grid], [role=application], svg.chart, .answer-curve, .dial');
    return [...pictures]
      .filter((picture) => !picture.closest('figure, .chart-figure, .whole-map')?.querySelector('button.save'))
      .map((picture) => picture.getAttribute('aria-label'));
  });
  expect(without).toEqual([]);
});

test('the address in a saved file shows what was saved', async ({ page, browser }) => {
  const here = await open(page, 'bank');
  await here.getByRole('button', { name: 'Query zero' }).click();
  await expect(here.getByTestId('bank-answer')).toHaveText('Answer: [0.83, 0.17]');
  const { provenance } = readJson((await saved(page, here, 'a', 'JSON')).bytes);
  const context = await browser.newContext();
  const there = await context.newPage();
  await there.goto(provenance.address);
  await expect(there.getByTestId('bank-answer')).toHaveText('Answer: [0.83, 0.17]');
  await context.close();
});

test('by keyboard alone', async ({ page }) => {
  const here = await open(page, 'code');
  const button = here.getByRole('button', { name: 'Save O as a file' });
  await tabTo(page, button);
  await press(page, 'Enter', 'Escape'); // the menu opens and closes
  await expect(page.getByRole('menu')).toHaveCount(0);
  await expect(button).toBeFocused();
  await press(page, 'Enter');
  await expect(page.getByRole('menuitem', { name: /^SVG/ })).toBeFocused();
  const download = page.waitForEvent('download');
  await press(page, 'ArrowDown', 'ArrowDown', 'Enter');
  expect((await download).suggestedFilename()).toBe('qkv_code_O.csv');
  await expect(button).toBeFocused();
});
