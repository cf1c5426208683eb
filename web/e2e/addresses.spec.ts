// Whatever a reader changes can be undone, and a copied link shows the same view to somebody else.
import { expect, test, type Locator, type Page, type Request } from '@playwright/test';
import { drop, npz, smallProblem } from './files';
import { cell, choose, grid, open, press, slider, toggle, undo, type PartName } from './reading';

type Change = readonly [what: string, make: (here: Locator, page: Page) => Promise<void>];

const button = (name: string): Change => [name, (here) => here.getByRole('button', { name, exact: true }).click()];
const option = (name: string): Change => [name, (here) => choose(here, name)];
const onOff = (name: RegExp): Change => [String(name), (here) => toggle(here, name)];
const slid = (name: string | RegExp, value: string): Change => [String(name), (here) => slider(here, name).fill(value)];
const typed = (name: RegExp, value: string): Change => [String(name), (here) => here.getByRole('textbox', { name }).fill(value)];
const entry = (symbol: string, value: string): Change => [
  `an entry of ${symbol}`,
  async (here, page) => {
    await cell(grid(here, symbol).first(), 0, 1).click();
    await here.getByRole('textbox').fill(value);
    await press(page, 'Enter');
  },
];

const CHANGES: Readonly<Record<PartName, readonly Change[]>> = {
  dictionary: [
    button('plum'),
    slid('Length of the question', '7.5'),
    slid('Turn the question', '200'),
    ['the dial', (here) => slider(here, /^Direction of/).press('PageUp')],
  ],
  projections: [option('sat'), option('A'), button('tired')],
  bank: [entry('Q', '1,5'), button('River says money'), entry('K', '-2'), option('river')],
  code: [option('C++')],
  running: [option('head 2'), onOff(/^Causal/), onOff(/^Divide/), option('ed'), option('both, merged')],
  shapes: [
    ['GPT-2 small', (here) => here.getByRole('button', { name: 'GPT-2 small' }).click()],
    typed(/^n: /, '6'),
    button('transpose K'),
    typed(/^Shape of V/, '[8, 64]'),
  ],
  matrix: [option('a mix'), slid('distance', '2'), slid(/^d_k/, '200'), onOff(/^divide/), slid('Tokens', '16'), button('New draw')],
  backward: [entry('Q', '0,25'), entry('dO', '3'), slid('step h', '-3'), slid('Sharpen the scores', '2.5')],
  own: [slid('Head', '1'), slid('Row', '2'), onOff(/^causal/)],
};

/** All that a part shows: its words and numbers, its marks, what its fields hold, and the pixels of its maps. Formulas are
    set when they come near the screen, and are left out. */
const seen = (here: Locator): Promise<unknown> =>
  here.evaluate((part) => {
    const words: string[] = [];
    const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) if (!walker.currentNode.parentElement?.closest('.math')) words.push(walker.currentNode.nodeValue ?? '');
    return [
      words.join('\n'),
      part.querySelectorAll('[aria-pressed=true], .is-lit, .is-masked, .is-ahead').length,
      [...part.querySelectorAll('input')].map((field) => (/radio|checkbox/.test(field.type) ? field.checked : field.value)),
      [...part.querySelectorAll('canvas')].map((map) => map.toDataURL()),
    ];
  });

/** Gives a function that says what a part shows once no question to the engine is under way. */
function watched(page: Page) {
  const asked = new Set<Request>();
  page.on('request', (request) => request.url().includes('/api/') && asked.add(request));
  page.on('requestfinished', (request) => asked.delete(request));
  page.on('requestfailed', (request) => asked.delete(request));
  return async (here: Locator): Promise<unknown> => {
    let last: unknown;
    await expect
      .poll(async () => {
        const before = last;
        last = await seen(here);
        return asked.size === 0 && JSON.stringify(last) === JSON.stringify(before);
      }, { intervals: [50, 150] })
      .toBe(true);
    return last;
  };
}

async function opened(page: Page, name: PartName, address?: string): Promise<Locator> {
  const here = address === undefined ? await open(page, name) : page.locator(`[data-part=${name}]`);
  if (address !== undefined) await page.goto(address);
  if (name === 'own') {
    // A file is no part of an address: whoever gets the link brings the same file.
    await drop(page, here, 'mine.npz', npz(smallProblem()));
    await expect(here.getByTestId('own-reads')).toBeVisible();
  }
  return here;
}

test.use({ permissions: ['clipboard-read', 'clipboard-write'] });

for (const [name, changes] of Object.entries(CHANGES) as [PartName, readonly Change[]][])
  test(`${name}: each change is a step of undo, and the link to all of them shows the same view`, async ({ page, browser }) => {
    const settled = watched(page);
    const here = await opened(page, name);
    for (const [what, make] of changes) {
      const before = await settled(here);
      const address = page.url();
      await make(here, page);
      await expect.poll(() => page.url(), what).not.toBe(address);
      await page.getByRole('heading', { level: 1 }).click(); // nothing is in focus or pointed at
      const after = await settled(here);
      expect(after, what).not.toEqual(before);
      await undo(page).click();
      await expect.poll(() => seen(here), `${what}, undone`).toEqual(before);
      await page.getByRole('button', { name: 'Redo' }).click();
      await expect.poll(() => seen(here), `${what}, done again`).toEqual(after);
    }
    await page.getByRole('button', { name: 'Copy a link to this view' }).click();
    await expect(page.getByRole('button', { name: 'The link is copied' })).toBeVisible();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    const context = await browser.newContext();
    const there = await opened(await context.newPage(), name, link);
    await expect.poll(() => seen(there)).toEqual(await seen(here));
    await context.close();
  });

test('language and theme are in the link, and undo leaves them alone', async ({ page }) => {
  await open(page, 'bank');
  await page.getByRole('button', { name: 'Português' }).click();
  await page.getByRole('combobox').selectOption('dark');
  await expect(page).toHaveURL(/lang=pt&theme=dark/);
  await expect(page.getByRole('button', { name: 'Desfazer' })).toBeDisabled();
  await page.reload();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  await expect(page.locator('html')).toHaveAttribute('lang', 'pt-BR');
});

test('an address that is no address of this page shows the lesson as it begins', async ({ page }) => {
  await page.goto('./#bank.q=1,2,3;x&matrix.d=1e9&running.row=-1&nonsense=%FF&bank.row=7');
  await expect(page.getByTestId('bank-answer')).toHaveText('Answer: [0.85, 0.15]');
  await expect(page.locator('[data-part=matrix]').getByRole('slider', { name: /^d_k/ })).toHaveValue('64');
});
