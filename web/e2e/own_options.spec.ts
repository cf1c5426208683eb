// Part 9: the options over those of a file, requests that are sent whole, and what takes long.
import { expect, test } from '@playwright/test';
import { drop } from './files';
import { choose, expectNumbers, explained, grid, open, press, rowsOf, slider, toggle } from './reading';

const json = (request: object) => Buffer.from(JSON.stringify(request));
const small = { q: [[1, 2], [3, -4]], k: [[1, 0], [1, 1], [0, 2]], v: [[1, 0], [0, 1], [2, 2]] };

test('options are chosen over those of the file, and an empty field is the file\'s again', async ({ page }) => {
  const here = await open(page, 'own');
  await drop(page, here, 'small.json', json({ ...small, scale: 0.5 }));
  const expectRow = async (options: object) => {
    const answer = await explained(page, { ...small, ...options });
    await expectNumbers(grid(here, 'A'), rowsOf(answer, 'p')[0] ?? [], 3);
  };
  await expectRow({ scale: 0.5 });
  await here.getByRole('textbox', { name: 'scale' }).fill('2');
  await here.getByRole('textbox', { name: 'softcap' }).fill('1,5');
  await expectRow({ scale: 2, softcap: 1.5 });
  await expect(grid(here, 'capped').locator('.is-clipped')).not.toHaveCount(0); // 8 and 6 are at the cap of 1.5
  await here.getByRole('textbox', { name: 'window ahead' }).fill('0');
  await expectRow({ scale: 2, softcap: 1.5, window: [-1, 0], corner: 'bottom_right' });
  await choose(here, 'the first key');
  await expectRow({ scale: 2, softcap: 1.5, window: [-1, 0], corner: 'top_left' });
  await toggle(here, 'causal mask');
  await expectRow({ scale: 2, softcap: 1.5, causal: 'top_left' });
  await expect(grid(here, 'A').locator('.is-masked')).toHaveCount(2);
  for (const name of ['scale', 'softcap', 'window ahead']) await here.getByRole('textbox', { name }).fill('');
  await toggle(here, 'causal mask');
  await expectRow({ scale: 0.5 });
});

test('an option that is none is marked, and the last good one stays in use', async ({ page }) => {
  const here = await open(page, 'own');
  await drop(page, here, 'small.json', json(small));
  const before = await explained(page, small);
  await here.getByRole('textbox', { name: 'softcap' }).fill('-1');
  await expect(here.getByRole('alert')).toHaveText('A number above 0, please.');
  await expectNumbers(grid(here, 'A'), rowsOf(before, 'p')[0] ?? [], 3);
});

test('a whole layer is shown, any head of it', async ({ page }) => {
  const here = await open(page, 'own');
  await drop(page, here, 'layer.json', json({ example: 'running', causal: 'top_left' }));
  await expect(here.getByTestId('own-file')).toContainText('layer.json: 2 heads, 5 queries, 5 keys');
  await slider(here, 'Head').fill('1');
  await slider(here, 'Row').fill('4');
  const answer = await explained(page, { example: 'running', causal: 'top_left', head: 1 });
  await expectNumbers(grid(here, 'A'), rowsOf(answer, 'p', 1)[4] ?? [], 3);
  await expectNumbers(grid(here, 'O'), rowsOf(answer, 'o', 1)[4] ?? [], 3);
});

test('grouped heads show the keys and values that they share', async ({ page }) => {
  const here = await open(page, 'own');
  const one = (value: number) => [[value, 0]];
  await drop(page, here, 'grouped.json', json({ q: [1, 2, 3, 4].map(one), k: [5, 6].map(one), v: [7, 8].map(one), key_lengths: [1] }));
  await slider(here, 'Head').fill('2');
  await expectNumbers(grid(here, 'K'), [6, 0]);
  await expectNumbers(grid(here, 'V'), [8, 0]);
  await slider(here, 'Head').fill('1');
  await expectNumbers(grid(here, 'K'), [5, 0]);
});

test('what takes long says so, can be stopped, and can be computed after all', async ({ page }) => {
  const here = await open(page, 'own');
  let answer = () => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  await page.route('**/api/explain', async (route) => {
    await held;
    await route.continue().catch(() => {}); // given up meanwhile
  });
  await drop(page, here, 'small.json', json(small));
  await expect(here.getByText('Computing …')).toBeVisible();
  await here.getByRole('button', { name: 'Stop', exact: true }).focus();
  await press(page, 'Enter');
  await expect(here.getByText('Stopped.')).toBeVisible();
  answer();
  await here.getByRole('button', { name: 'Compute it after all' }).click();
  await expect(grid(here, 'A')).toBeVisible();
  await expect(here.getByText('Stopped.')).toHaveCount(0);
});
