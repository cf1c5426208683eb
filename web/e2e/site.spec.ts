// The static site: the engine as WebAssembly, no other host, and after the first visit no host at all.
import { readFileSync } from 'node:fs';
import { expect, test, type Browser, type Page } from '@playwright/test';
import { withSpareMemory } from '../package/test/small_memory';
import { expectNumbers, grid, lesson, part } from './reading';
import { serve, type StaticHost } from './static_host';

let host: StaticHost;
test.beforeEach(async () => {
  host = await serve('../build-site');
});
test.afterEach(() => host.close());

/** Every request of the page and of its workers, and what it logs as an error. */
function watched(page: Page) {
  const asked: string[] = [];
  const problems: string[] = [];
  page.context().on('request', (request) => asked.push(request.url()));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  return { asked, problems };
}

async function expectTheLesson(page: Page, measures: string) {
  const bank = lesson('bank');
  await expectNumbers(grid(part(page, 'bank'), 'a'), bank.expected.weights[1]);
  await expectNumbers(grid(part(page, 'bank'), 'o'), bank.expected.output[1]);
  await part(page, 'bank').getByRole('button', { name: 'River says money' }).click();
  await expectNumbers(grid(part(page, 'bank'), 'o'), bank.experiments.river_says_money.expected.output[1]);
  await page.getByRole('button', { name: 'Undo' }).click();
  await expectNumbers(grid(part(page, 'running'), 'A'), lesson('running').heads[0].full.weights.flat(), 3);
  await expect(page.getByTestId('matrix-rows')).toHaveText(measures);
}

/** What part 7 measures, for which the lesson's files have no numbers, on the page that the tool serves. */
async function measuresOfTheTool(browser: Browser, address: string): Promise<string> {
  const page = await browser.newPage();
  await page.goto(address);
  await expect(page.getByTestId('matrix-rows')).toContainText('.');
  const measures = (await page.getByTestId('matrix-rows').textContent()) ?? '';
  await page.close();
  return measures;
}

test('it computes the lesson with the network cut, and never asks another host', async ({ browser, page, baseURL }) => {
  const measures = await measuresOfTheTool(browser, baseURL ?? '');
  const { asked, problems } = watched(page);
  await page.goto(host.address);
  await expectTheLesson(page, measures);
  await page.evaluate(() => navigator.serviceWorker.ready);
  await host.close();
  await page.context().setOffline(true);
  await page.goto('about:blank');
  await page.goto(host.address);
  await expectTheLesson(page, measures);
  await part(page, 'matrix').locator('.argument').scrollIntoViewIfNeeded(); // formulas are loaded when they are seen
  await expect(page.locator('.katex').first()).toBeAttached();

  expect(asked.filter((address) => !address.startsWith(host.address) && !address.startsWith('about:'))).toEqual([]);
  expect(asked.some((address) => address.endsWith('explain.wasm'))).toBe(true);
  expect(problems).toEqual([]);
});

test('an installed page has a name and icons of the sizes that it says', async ({ page }) => {
  await page.goto(host.address);
  const manifest = await page.evaluate(async () => {
    const place = document.querySelector<HTMLLinkElement>('link[rel=manifest]')?.href ?? '';
    return (await fetch(place)).json() as Promise<{ name: string; icons: { src: string; sizes: string; type: string; purpose: string }[] }>;
  });
  expect(manifest.name).toContain('qkv');
  expect(manifest.icons.map(({ purpose }) => purpose)).toContain('maskable');
  const links = await page.locator('link[rel="apple-touch-icon"]').evaluateAll((all) => all.map((one) => (one as HTMLLinkElement).href));
  for (const { src, sizes } of [...manifest.icons, ...links.map((src) => ({ src, sizes: '180x180' }))]) {
    if (src.endsWith('.svg')) continue;
    const drawn = await page.evaluate(async (place) => {
      const { width, height } = await createImageBitmap(await (await fetch(place)).blob());
      return `${width}x${height}`;
    }, src);
    expect(drawn, src).toBe(sizes);
  }
});

test.describe('where the memory runs out', () => {
  test.use({ serviceWorkers: 'block' });
  test('the engine says so, starts anew, and answers the next question', async ({ page }) => {
    const small = Buffer.from(withSpareMemory(readFileSync('../build-site/explain.wasm'), 20));
    await page.route('**/explain.wasm', (route) => route.fulfill({ body: small }));
    await page.goto(`${host.address}#matrix.n=4`);
    const here = part(page, 'matrix');
    await expect(page.getByTestId('matrix-rows')).toContainText('.');
    const before = (await page.getByTestId('matrix-rows').textContent()) ?? '';
    await page.evaluate(() => (location.hash = '#matrix.n=64&matrix.d=256'));
    await expect(here).toContainText('the engine stopped');
    await page.evaluate(() => (location.hash = '#matrix.n=4'));
    await expect(here).not.toContainText('the engine stopped');
    await expect(page.getByTestId('matrix-rows')).toHaveText(before);
    await expectNumbers(grid(part(page, 'bank'), 'o'), lesson('bank').expected.output[1]);
  });
});
