// The page as a whole: languages, addresses, what a teacher leaves out.
import { expect, test } from '@playwright/test';

test('the language switches and switches back, with its own numbers', async ({ page }) => {
  await page.goto('./');
  await page.getByRole('button', { name: 'Português' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Atenção, à mão');
  await expect(page.getByTestId('bank-answer')).toHaveText('Resposta: [0,85; 0,15]');
  await expect(page.locator('html')).toHaveAttribute('lang', 'pt-BR');
  await page.getByRole('button', { name: 'English' }).click();
  await expect(page.getByTestId('bank-answer')).toHaveText('Answer: [0.85, 0.15]');
});

test.describe('in a Brazilian browser', () => {
  test.use({ locale: 'pt-BR' });
  test('the page begins in Portuguese', async ({ page }) => {
    await page.goto('./');
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Atenção, à mão');
  });
});

test('a reloaded address shows the same view', async ({ page }) => {
  await page.goto('./');
  await page.locator('[data-part=bank]').getByRole('button', { name: 'Query zero' }).click();
  await expect(page).toHaveURL(/bank\.q=/);
  const answer = await page.getByTestId('bank-answer').textContent();
  await page.reload();
  await expect(page.getByTestId('bank-answer')).toHaveText(answer ?? '');
});

test('a teacher can leave parts out and the frame too', async ({ page }) => {
  await page.goto('./#_hide=1,shapes&embed=1');
  await expect(page.locator('[data-part=bank]')).toBeVisible();
  await expect(page.locator('[data-part=dictionary]')).toHaveCount(0);
  await expect(page.locator('[data-part=shapes]')).toHaveCount(0);
  await expect(page.getByRole('heading', { level: 1 })).toHaveCount(0);
});

test('on a wide screen every matrix has its room: none scrolls', async ({ page }) => {
  await page.goto('./');
  await expect(page.getByTestId('running-looks')).toBeVisible();
  const tight = await page.locator('.grid-figure').evaluateAll((all) =>
    all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.querySelector('table')?.getAttribute('aria-label')),
  );
  expect(tight).toEqual([]);
});

/** What reaches beyond the part although nothing around it scrolls: the part cuts it off in silence. */
function cutOff(part: Element): string[] {
  const edge = part.getBoundingClientRect().right;
  const scrolls = (element: Element | null): boolean =>
    element !== null && element !== part && (/auto|scroll/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
  return [...part.querySelectorAll('input, button, select, summary, table, svg, p, h3, dd')]
    .filter((element) => element.getBoundingClientRect().right > edge + 0.5 && !scrolls(element))
    .map((element) => `${element.tagName} ${element.getAttribute('class') ?? ''} ${element.textContent?.slice(0, 30)}`);
}

test.describe('on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 } });
  test('parts are tabs, nothing is wider than the screen, and none is dropped', async ({ page }) => {
    await page.goto('./');
    const tabs = page.getByRole('navigation').getByRole('button');
    const names = await page.locator('[data-part]').evaluateAll((all) => all.map((one) => one.getAttribute('data-part')));
    expect(await tabs.count()).toBe(names.length);
    for (const [index, name] of names.entries()) {
      await tabs.nth(index).click();
      await expect(page.locator(`[data-part=${name}]`)).toBeVisible();
      expect(await page.evaluate(() => document.documentElement.scrollWidth), name ?? '').toBeLessThanOrEqual(390);
      expect(await page.locator(`[data-part=${name}]`).evaluate(cutOff), name ?? '').toEqual([]);
      await expect(tabs.nth(index)).toBeInViewport({ ratio: 1 });
    }
  });
});

test('the page breaks no rule of its own Content-Security-Policy and logs no error', async ({ page }) => {
  const problems: string[] = [];
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  await page.goto('./');
  await expect(page.getByTestId('bank-answer')).toBeVisible();
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await page.waitForTimeout(500);
  expect(problems).toEqual([]);
});
