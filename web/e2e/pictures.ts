// Takes the pictures of docs/gallery.md, docs/check.md and docs/python.md: `npm run pictures` in web/, after `make build` and
// `scripts/build.sh qkv_widget`.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, type Locator, type Page, type PageScreenshotOptions } from '@playwright/test';
import { check, compiled } from './checked';
import { heads, openNotebook } from './notebook';
import { cell, grid, open, part, type PartName } from './reading';

const FOLDER = '../docs/pictures/explorer';
const MOST_BYTES = 150_000; // each: a repository keeps every version of a picture
const [MARGIN, BELOW] = [24, 6]; // pixels around it

interface Picture {
  readonly name: string;
  readonly part: PartName;
  readonly lang: 'en' | 'pt';
  readonly theme: 'light' | 'dark';
  /** Of the part's properties: "matrix.n=64". */
  readonly state?: string;
  readonly prepare?: (here: Locator, page: Page) => Promise<void>;
  /** Where the picture begins, if not at the part's number, and where it ends. */
  readonly from?: (here: Locator) => Locator;
  readonly until: (here: Locator) => Locator;
}

const step = (here: Locator, number: string) => here.locator('li.step').filter({ has: here.page().getByText(number, { exact: true }) });

const PICTURES: readonly Picture[] = [
  { name: '1_dictionary', part: 'dictionary', lang: 'en', theme: 'light', state: 'dictionary.turn=80', until: (here) => here.locator('.two-dictionaries') },
  {
    name: '2_projections', part: 'projections', lang: 'pt', theme: 'light',
    from: (here) => here.locator('.chain-section'), until: (here) => here.getByTestId('projections-reads'),
  },
  {
    name: '3_bank', part: 'bank', lang: 'en', theme: 'light',
    prepare: async (here, page) => (await cell(grid(here, 'a'), 0, 2).click(), await page.mouse.move(0, 0)),
    until: (here) => here.getByTestId('bank-answer'),
  },
  { name: '4_code', part: 'code', lang: 'pt', theme: 'dark', until: (here) => here.locator('.code-and-result') },
  {
    name: '5_running', part: 'running', lang: 'en', theme: 'dark', state: 'running.causal=1',
    from: (here) => step(here, '①'), until: (here) => here.getByTestId('running-looks'),
  },
  {
    name: '6_shapes', part: 'shapes', lang: 'en', theme: 'light', state: 'shapes.preset=gpt2_small',
    prepare: (here) => here.getByRole('button', { name: 'transpose K' }).click(),
    from: (here) => here.getByTestId('shapes-verdict'), until: (here) => here.locator('tr[data-line=v]'),
  },
  { name: '7_matrix', part: 'matrix', lang: 'pt', theme: 'light', state: 'matrix.n=64&matrix.d=64', until: (here) => here.locator('.argument p').nth(2) },
  {
    name: '7_undivided', part: 'matrix', lang: 'en', theme: 'dark', state: 'matrix.n=64&matrix.d=128&matrix.divide=0',
    from: (here) => here.locator('.controls'), until: (here) => here.locator('.argument p').nth(2),
  },
  {
    name: '8_backward', part: 'backward', lang: 'pt', theme: 'dark',
    from: (here) => step(here, '①'), until: (here) => step(here, '③'),
  },
  {
    name: '8_differences', part: 'backward', lang: 'en', theme: 'light',
    from: (here) => here.getByTestId('backward-curve'), until: (here) => here.getByTestId('backward-curve'),
  },
  {
    name: '9_own', part: 'own', lang: 'en', theme: 'light', state: 'own.head=4&own.row=5',
    prepare: async (here) => {
      await here.locator('input[type=file]').setInputFiles('../examples/minilm.safetensors');
      await expect(here.getByTestId('own-reads')).toBeVisible();
    },
    from: (here) => here.getByTestId('own-file'), until: (here) => here.locator('.whole-map'),
  },
];

/** Everything is computed and drawn: nothing is awaited, and the letters are there. */
async function ready(page: Page) {
  await page.waitForLoadState('networkidle');
  await page.evaluate(() => document.fonts.ready);
}

async function take(page: Page, name: string, options: PageScreenshotOptions = {}) {
  const path = `${FOLDER}/${name}.png`;
  await page.screenshot({ path, ...options });
  expect(statSync(path).size, path).toBeLessThan(MOST_BYTES);
}

test.describe('pictures', () => {
  test.use({ viewport: { width: 1120, height: 4500 }, contextOptions: { reducedMotion: 'reduce' } });
  for (const { name, part: which, lang, theme, state, prepare, from, until } of PICTURES)
    test(name, async ({ page }) => {
      const here = await open(page, which, `embed=1&lang=${lang}&theme=${theme}&${state ?? ''}`);
      await prepare?.(here, page);
      await ready(page);
      const [all, first, last] = await Promise.all([here, from?.(here) ?? here.locator('.part-head'), until(here)].map((one) => one.boundingBox()));
      if (!all || !first || !last) throw new Error(`${name}: nothing is on the screen`);
      const top = first.y - MARGIN;
      const clip = { x: all.x - MARGIN, y: top, width: all.width + 2 * MARGIN, height: last.y + last.height + BELOW - top };
      await take(page, name, { clip });
    });
});

test.describe('pictures of a wide screen', () => {
  test.use({ viewport: { width: 1440, height: 900 } });
  test('0_page', async ({ page }) => {
    await page.goto('./#theme=light');
    await ready(page);
    await take(page, '0_page');
  });
});

test.describe('pictures of a phone', () => {
  test.use({ viewport: { width: 390, height: 844 }, deviceScaleFactor: 1.5 });
  for (const [name, which, lang, theme] of [
    ['phone_dictionary', 'dictionary', 'pt', 'dark'],
    ['phone_bank', 'bank', 'en', 'light'],
    ['phone_matrix', 'matrix', 'pt', 'light'],
    ['phone_shapes', 'shapes', 'en', 'dark'],
  ] as const)
    test(name, async ({ page }) => {
      await page.goto(`./#lang=${lang}&theme=${theme}&part=${which}`);
      await ready(page);
      await part(page, which).locator('.panel').evaluate((panel) => panel.scrollIntoView());
      await take(page, name);
    });
});

test.describe('pictures of a report', () => {
  test.use({ viewport: { width: 1000, height: 3000 } });
  const PLACES = [
    { name: 'report', asked: ['--quick'], look: 'lang=en&theme=light', from: '.masthead', until: 'The smallest problem that still fails' },
    { name: 'matrices', asked: ['--problem', 'attention B2 H4/2 T3x5 D7/6 causal=bottom_right'], look: 'lang=pt&theme=dark', from: 'O primeiro problema que falha', until: 'O primeiro problema que falha' },
  ] as const;
  for (const { name, asked, look, from, until } of PLACES)
    test(name, async ({ page }) => {
      const { folder } = compiled('my_attention');
      const { address } = check(['./my_attention.so:my_attention', ...asked], join(folder, 'report.html'), folder);
      await page.goto(`${address}#${look}`);
      await ready(page);
      const section = (title: string) => page.getByRole('region', { name: title, exact: true });
      const [first, last] = await Promise.all([from.startsWith('.') ? page.locator(from) : section(from), section(until)].map((one) => one.boundingBox()));
      if (!first || !last) throw new Error(`${name}: nothing is on the screen`);
      await take(page, `../check/${name}`, { clip: { x: 0, y: first.y, width: 1000, height: last.y + last.height + MARGIN - first.y } });
    });
});

test.describe('pictures of a notebook', () => {
  test.use({ viewport: { width: 1120, height: 2000 }, contextOptions: { reducedMotion: 'reduce' } });
  test('notebook', async ({ page }) => {
    const { panel } = await openNotebook(page, await heads(page), { theme: 'light' });
    await cell(grid(panel, 'A').first(), 3, 1).click();
    await page.mouse.move(0, 0);
    const [all, last] = await Promise.all([panel, panel.locator('.reads')].map((one) => one.boundingBox()));
    if (!all || !last) throw new Error('nothing is on the screen');
    await take(page, '../notebook', { clip: { x: all.x, y: all.y, width: all.width, height: last.y + last.height + MARGIN - all.y } });
  });
});
