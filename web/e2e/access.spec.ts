// Whether everybody can use the page: axe, small screens, less motion.
import AxeBuilder from '@axe-core/playwright';
import { expect, test, type Page } from '@playwright/test';
import { drop, npz, smallProblem } from './files';
import { cell, grid, part, PARTS } from './reading';

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

async function expectNothingSerious(page: Page, where: string) {
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().withTags(RULES).analyze();
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  const said = serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.target.join(' ')} ${node.any[0]?.message}`).slice(0, 5).join(' | ')}`);
  expect(said, where).toEqual([]);
}

/** Puts each part into the state in which it shows most: tables open, a file read, a shape broken, an entry marked. */
async function showEverything(page: Page) {
  for (const name of PARTS) await part(page, name).scrollIntoViewIfNeeded(); // what was never on the screen has no size
  await drop(page, part(page, 'own'), 'mine.npz', npz(smallProblem()));
  await expect(page.getByTestId('own-reads')).toBeVisible();
  await drop(page, part(page, 'own'), 'bad.npz', Buffer.from('no archive'));
  await part(page, 'shapes').locator('.breaks button').first().click();
  await expect(page.getByTestId('shapes-verdict')).toHaveClass(/is-broken/);
  await part(page, 'running').locator('label.switch').first().click();
  for (const table of await page.locator('details.twin > summary').all()) await table.click();
  await cell(grid(part(page, 'bank'), 'V'), 0, 0).click();
  await part(page, 'bank').getByRole('textbox').fill('?');
}

for (const lang of ['en', 'pt'])
  for (const theme of ['light', 'dark'])
    test(`axe finds nothing serious in ${lang}, ${theme}, with everything shown`, async ({ page }) => {
      test.slow(); // axe reads some thousands of cells
      await page.goto(`./#lang=${lang}&theme=${theme}`);
      await expect(page.getByTestId('matrix-law')).toBeVisible();
      await showEverything(page);
      await expectNothingSerious(page, 'the page');
    });

for (const [lang, theme] of [['en', 'dark'], ['pt', 'light']])
  test(`axe finds nothing serious in any part on a phone in ${lang}, ${theme}`, async ({ page }) => {
    test.slow();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`./#lang=${lang}&theme=${theme}`);
    const tabs = page.getByRole('navigation').getByRole('button');
    for (const [index, name] of PARTS.entries()) {
      await tabs.nth(index).click();
      await expect(part(page, name)).toBeVisible();
      await expectNothingSerious(page, name);
    }
  });

test('on a phone a finger hits every control', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto('./');
  await expect(page.getByTestId('bank-answer')).toBeHidden();
  const tabs = page.getByRole('navigation').getByRole('button');
  for (const [index, name] of PARTS.entries()) {
    await tabs.nth(index).click();
    const small = await part(page, name).evaluate((here) =>
      [...here.querySelectorAll<HTMLElement>('button, select, summary, label.switch, .choice label, td.is-editable')]
        .map((control) => ({ said: control.innerText.slice(0, 30), box: control.getBoundingClientRect() }))
        .filter(({ box }) => box.height > 0 && (box.height < 39.5 || box.width < 39.5))
        .map(({ said, box }) => `${said}: ${Math.round(box.width)}×${Math.round(box.height)}`),
    );
    expect(small, name).toEqual([]);
  }
});

/** The longest transition or animation of any element of the page, in seconds. */
const longestMotion = () =>
  Math.max(
    ...[...document.querySelectorAll('*')].flatMap((element) => {
      const { transitionDuration, animationDuration } = getComputedStyle(element);
      return `${transitionDuration}, ${animationDuration}`.split(', ').map((text) => parseFloat(text) * (text.endsWith('ms') ? 0.001 : 1));
    }),
  );

test('who asks for less motion gets none', async ({ page }) => {
  await page.goto('./');
  await expect(page.getByTestId('soft-answer')).toBeVisible();
  expect(await page.evaluate(longestMotion)).toBeGreaterThan(0.05);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  expect(await page.evaluate(longestMotion)).toBeLessThan(0.001);
});

test('letters twice as large make nothing wider than the window', async ({ page }) => {
  await page.goto('./');
  await expect(page.getByTestId('bank-answer')).toBeVisible();
  await page.evaluate(() => (document.documentElement.style.fontSize = '200%'));
  await expect(page.getByTestId('bank-answer')).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1280);
});
