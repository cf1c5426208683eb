// The report of a check as a file that a browser opens from the disk: what stands in it is what --json says.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import AxeBuilder from '@axe-core/playwright';
import { expect, test, type Page } from '@playwright/test';
import { lookOf } from '../src/model/check_report';
import { check, compiled, run, type Checked, type Library } from './checked';
import { expectNumbers, grid, said, shortNumber } from './reading';

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

const pageOf = (html: string) => readFileSync(html, 'utf8');

let library: Library;
let folder: string;
let mine: string;
let corner: Checked;
test.beforeAll(() => {
  library = compiled('my_attention');
  folder = library.folder;
  mine = `${library.path}:my_attention`;
  corner = check([mine, '--problem', 'attention B2 H4/2 T3x5 D7/6 causal=bottom_right'], join(folder, 'corner.html'));
});

/** What the page logs as an error, the policy's refusals too, and what it asks of a network. */
function watched(page: Page): string[] {
  const problems: string[] = [];
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => /^(file|data|blob):/.test(request.url()) || problems.push(request.url()));
  return problems;
}

test('it opens from the disk without a network and says the verdict and the mistake', async ({ page, context }) => {
  await context.setOffline(true);
  const problems = watched(page);
  await page.goto(corner.address);
  expect(corner.status).toBe(1);
  expect(corner.said).toContain(`wrote ${join(folder, 'corner.html')}`);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(corner.report.headline.split('; 1 of 1')[0] ?? '');
  await expect(page).toHaveTitle(`Wrong: ${corner.report.subject}`);
  await expect(page.getByText('corner_top_left')).toBeVisible();
  await expect(page.getByLabel('Ask it again', { exact: true })).toHaveText(corner.report.replay ?? '');
  expect(problems).toEqual([]);
});

for (const [title, at] of [['The first probe that fails', 0], ['The smallest problem that still fails', 1]] as const)
  test(`the matrices are those of the document, unseen weights hatched: ${title}`, async ({ page }) => {
    await page.goto(corner.address);
    const here = page.getByRole('region', { name: title });
    const matrices = corner.report.matrices[at];
    if (!matrices) throw new Error('the document has no matrices');
    const numbers = (name: 'got' | 'want' | 'error' | 'weights' | 'weights_got') => (matrices[name]?.values ?? []).flat().map(Number);
    const { decimals, decimalsOff } = lookOf(matrices);
    await expectNumbers(grid(here, 'got'), numbers('got'), decimals);
    await expectNumbers(grid(here, 'want'), numbers('want'), decimals);
    await expectNumbers(grid(here, 'Δ'), numbers('error'), decimalsOff);
    for (const [symbol, name] of [['A want', 'weights'], ['A got', 'weights_got']] as const) {
      await expectNumbers(grid(here, symbol), numbers(name), 3);
      const unseen = numbers(name).filter((weight) => weight === 0).length;
      await expect(grid(here, symbol).locator('td.is-masked')).toHaveCount(unseen);
    }
    expect(numbers('weights_got')).not.toEqual(numbers('weights'));
  });

test('a matrix is walked by the keyboard, and a row is lit in all of them', async ({ page }) => {
  await page.goto(corner.address);
  const here = page.getByRole('region', { name: 'The first probe that fails' });
  await grid(here, 'got').getByRole('gridcell').first().focus();
  await page.keyboard.press('Control+End');
  await expect(said(page)).toContainText('got: q2 → c5');
  for (const symbol of ['got', 'want', 'Δ', 'A got', 'A want']) await expect(grid(here, symbol).locator('tbody tr').last()).toHaveClass('is-lit');
});

test('a matrix is saved with where it came from', async ({ page }) => {
  await page.goto(corner.address);
  const here = page.getByRole('region', { name: 'The first probe that fails' });
  await here.getByRole('button', { name: 'Save got as a file' }).click();
  const saved = page.waitForEvent('download');
  await page.getByRole('menuitem', { name: 'JSON' }).click();
  const file = JSON.parse(readFileSync(await (await saved).path(), 'utf8'));
  expect(file.values).toEqual(corner.report.matrices[0]?.got.values);
  expect(file.provenance).toMatchObject({ part: 'check', problem: corner.report.matrices[0]?.problem });
});

test('a whole run has its probes by verdict, its policies and invariants', async ({ page }) => {
  const { report, address } = check([mine, '--quick'], join(folder, 'quick.html'));
  await page.goto(address);
  const rows = page.getByRole('region', { name: 'Probes' }).locator('tbody tr');
  const { answered, wrong, refused } = report.counts;
  await expect(rows).toHaveCount(wrong);
  for (const [label, count] of [['all', answered + refused], ['right', answered - wrong], ['refused', refused]] as const) {
    await page.locator('.choice label').filter({ hasText: label }).click();
    await expect(rows).toHaveCount(count);
  }
  const asked = report.invariants.filter((one) => one.asked);
  const invariants = page.getByRole('region', { name: 'What must hold' }).locator('tbody tr');
  await expect(invariants).toHaveCount(asked.length + 1);
  const deviations = await invariants.locator('td:nth-child(3)').allTextContents();
  expect(deviations.slice(0, asked.length).map(shortNumber)).toEqual(asked.map(({ deviation }) => Number(Number(deviation).toPrecision(2))));
  for (const { question, probes } of report.policies)
    await expect(page.getByRole('rowheader', { name: question })).toHaveCount(probes > 0 ? 1 : 0);
});

test('a right answer has no matrices, and its headline says so in Portuguese too', async ({ page }) => {
  const { status, address } = check([mine, '--quick', '--accept', 'corner_top_left'], join(folder, 'right.html'));
  expect(status).toBe(0);
  await page.goto(`${address}#lang=pt`);
  await expect(page.locator('.report-verdict')).toHaveText('Correta');
  await expect(page.getByRole('heading', { level: 1 })).toHaveAttribute('lang', 'en');
  await expect(page.getByRole('grid')).toHaveCount(0);
});

test('the command that asks again is copied, and gives the verdict again', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(corner.address);
  await page.locator('.code-block').filter({ hasText: 'Ask it again' }).getByRole('button', { name: 'Copy' }).click();
  await expect(said(page)).toHaveText('Copied');
  const command = await page.evaluate(() => navigator.clipboard.readText());
  expect(command).toBe(corner.report.replay);
  const again = spawnSync(command.replace('qkv', '../build/qkv'), { shell: true, encoding: 'utf8' });
  expect(again.stdout).toMatch(/^WRONG: [^;]*the corner of positions/); // and what one key fewer is as well
});

test('language and theme are chosen, and the address keeps them', async ({ page }) => {
  const problems = watched(page);
  await page.goto(corner.address);
  await page.getByRole('button', { name: 'Português' }).click();
  await page.getByRole('combobox').selectOption('dark');
  await expect(page).toHaveURL(/#lang=pt&theme=dark$/);
  await page.reload();
  await expect(page.getByRole('heading', { name: 'O menor problema que ainda falha' })).toBeVisible();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  await expect(page.locator('html')).toHaveAttribute('lang', 'pt-BR');
  expect(problems).toEqual([]);
});

test('a hostile name is text', async ({ page }) => {
  const name = 'x</script><img src=x onerror=alert(1)><!--<script>.so';
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  copyFileSync(library.path, path);
  const problems = watched(page);
  await page.goto(check([`${path}:my_attention`, '--problem', 'attention T2x3 D2 causal=bottom_right'], join(folder, 'hostile.html')).address);
  await expect(page.locator('.report-subject code')).toContainText(name);
  expect(await page.locator('img').count()).toBe(0);
  expect(problems).toEqual([]);
});

test('a script that somebody writes into the file is not run', async ({ page }) => {
  const html = join(folder, 'injected.html');
  const injected = '<body><script>document.body.dataset.ran = "script"</script><img src="x" onerror="document.body.dataset.ran = 1">';
  writeFileSync(html, pageOf(join(folder, 'corner.html')).replace('<body>', injected));
  await page.goto(`file://${html}`);
  await expect(page).toHaveTitle(/^Wrong: /);
  await expect(page.locator('body')).not.toHaveAttribute('data-ran');
});

test('the file is there when the report is whole, and is left alone otherwise', () => {
  const html = join(folder, 'kept.html');
  writeFileSync(html, 'old');
  expect(run([`${mine}_none`, '--html', html]).status).toBe(2);
  expect(pageOf(html)).toBe('old');
  expect(run([mine, '--html', join(folder, 'none', 'report.html')])).toMatchObject({ status: 2, stdout: '' });
  expect(run([mine, '--quick', '--html', html]).status).toBe(1);
  expect(pageOf(html)).toContain('<!doctype html>');
  expect(readdirSync(folder).filter((name) => name.includes('kept'))).toEqual(['kept.html']);
});

for (const lang of ['en', 'pt'])
  for (const theme of ['light', 'dark'])
    for (const width of [1440, 390])
      test(`axe finds nothing in ${lang}, ${theme}, ${width} pixels wide, and nothing is wider`, async ({ page }) => {
        await page.setViewportSize({ width, height: 900 });
        await page.goto(`${corner.address}#lang=${lang}&theme=${theme}`);
        await page.locator('.choice label').first().click();
        const { violations } = await new AxeBuilder({ page }).setLegacyMode().withTags(RULES).analyze();
        expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target.join(' ')).join(' | ')}`)).toEqual([]);
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      });
