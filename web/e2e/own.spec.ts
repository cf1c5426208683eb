// Part 9: files that a reader brings, good ones and bad ones.
import { closeSync, ftruncateSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { expect, test, type Locator, type Page } from '@playwright/test';
import { drop, listsOf, npz, safetensors, smallProblem, withHeader, type Made, type Tensors } from './files';
import { expectNumbers, explained, grid, open, press, rested, rowsOf, slider, tabTo, toggle, undo } from './reading';

const fileField = (here: Locator) => here.locator('input[type=file]');
const refusal = (here: Locator) => here.getByRole('alert');
const heading = (here: Locator) => here.getByTestId('own-file');
const made = (tensors: Tensors, name: string) => tensors[name] as Made;

/** The page shows this row of this head as the engine computes it. */
async function expectRow(page: Page, here: Locator, tensors: Tensors, head: number, row: number, options = {}) {
  const lists = Object.fromEntries(['q', 'k', 'v'].map((name) => [name, listsOf(made(tensors, name), head)]));
  const answer = await explained(page, { ...lists, ...options });
  const reading = answer.reading[row];
  await expect(here.getByTestId('own-reads').locator('tbody tr')).toHaveText(
    reading.keys.map((key: number, at: number) => `${key}${reading.weights[at].toFixed(4)}${reading.cumulative[at].toFixed(4)}`),
  );
  await expectNumbers(grid(here, 'A'), rowsOf(answer, 'p')[row] ?? [], 3);
  await expectNumbers(grid(here, 'O'), rowsOf(answer, 'o')[row] ?? [], 3);
}

for (const [kind, write] of [
  ['safetensors', safetensors],
  ['npz', npz],
] as const)
  test(`a dropped .${kind} shows every head and row of it`, async ({ page }) => {
    const here = await open(page, 'own');
    const tensors = smallProblem();
    await drop(page, here, `mine.${kind}`, write(tensors));
    await expect(heading(here)).toContainText(`mine.${kind}: 2 heads, 3 queries, 4 keys`);
    await expectRow(page, here, tensors, 0, 0);
    await slider(here, 'Head').fill('1');
    await slider(here, 'Row').fill('2');
    await expectRow(page, here, tensors, 1, 2);
    await toggle(here, 'causal mask');
    await expectRow(page, here, tensors, 1, 2, { causal: 'bottom_right' });
    await slider(here, 'Row').fill('0');
    await expectRow(page, here, tensors, 1, 0, { causal: 'bottom_right' });
  });

test('a dropped .json is a request, with its names and its mask', async ({ page }) => {
  const here = await open(page, 'own');
  await drop(page, here, 'bank.json', readFileSync('../examples/bank.json'));
  await expect(heading(here)).toContainText('bank.json: 1 head, 3 queries, 3 keys');
  await slider(here, 'Row').fill('1');
  await expect(here.getByTestId('own-reads').locator('tbody th')).toHaveText(['river', 'bank', 'sat']);
  await expectNumbers(grid(here, 'O'), [0.847, 0.153], 3);
});

test('a real model\'s heads: in layer 0, head 4, "bank" looks at "river"', async ({ page }) => {
  const here = await open(page, 'own');
  await fileField(here).setInputFiles('../examples/minilm.safetensors');
  await expect(heading(here)).toContainText('minilm.safetensors: 12 heads, 15 queries, 15 keys');
  await slider(here, 'Head').fill('4');
  await slider(here, 'Row').fill('5');
  const [first, second] = [here.getByTestId('own-reads').locator('tbody tr').first(), here.getByTestId('own-reads').locator('tbody tr').nth(1)];
  await expect(first).toHaveText('river0.69840.6984'); // examples/minilm.md
  await expect(second).toContainText('[CLS]0.0708');
  await rested(page, /own\.row=5/);
  await slider(here, 'Batch entry').fill('5');
  await expect(first).not.toHaveText('river0.69840.6984');
  await undo(page).click();
  await expect(first).toHaveText('river0.69840.6984');
  await here.getByRole('button', { name: 'Close it' }).click();
  await expect(heading(here)).toHaveCount(0);
});

const small = smallProblem();
const whole = safetensors(small);
const claims = (bytes: number) =>
  withHeader(JSON.stringify({ q: { dtype: 'F64', shape: [bytes / 8, 1], data_offsets: [0, bytes] } }), Buffer.alloc(8));
const BROKEN = [
  ['a file that is cut off', 'cut.safetensors', whole.subarray(0, whole.length - 8), 'points outside the file'],
  ['a header that claims 3 GB', 'claims.safetensors', claims(3e9), 'save it again'],
  ['a header of 2⁶³ bytes', 'header.safetensors', Buffer.from([0, 0, 0, 0, 0, 0, 0, 0x80, 0x7b]), 'cannot be read'],
  ['noise called .npz', 'noise.npz', Buffer.from('no archive at all'), 'is no zip archive'],
  ['a .json that is a list', 'list.json', Buffer.from('[1, 2]'), 'This is no JSON object'],
  ['rows of different lengths', 'ragged.json', Buffer.from('{"q": [[1, 2], [3]], "k": [[1, 2]], "v": [[1]]}'), 'q is no regular array'],
  ['a file without v', 'two.safetensors', safetensors({ q: made(small, 'q'), k: made(small, 'k') }), 'There is no v in the file'],
  ['shapes that do not fit', 'wrong.npz', npz({ ...small, k: made(smallProblem(2, 3, 4, 3), 'k') }), 'q and k share their last axis'],
  ['heads that cannot be shared', 'heads.npz', npz({ ...smallProblem(2), q: made(smallProblem(3), 'q') }), '3 query heads cannot share 2'],
  ['a picture', 'cat.png', Buffer.from('PNG'), 'is no .safetensors, .npz or .json'],
] as const;

test('what cannot be shown is refused with the reason, and the last good file stays', async ({ page }) => {
  const here = await open(page, 'own', 'own.head=1');
  await drop(page, here, 'good.npz', npz(small));
  await expectRow(page, here, small, 1, 0);
  for (const [what, name, bytes, reason] of BROKEN) {
    await drop(page, here, name, bytes);
    await expect(refusal(here), what).toContainText(reason);
    await expect(heading(here), what).toContainText('good.npz');
  }
  await expectRow(page, here, small, 1, 0);
  await drop(page, here, 'good.safetensors', whole);
  await expect(refusal(here)).toHaveCount(0);
  await expect(heading(here)).toContainText('good.safetensors');
});

test('a file of 3 GB is refused at once, without being read', async ({ page }, info) => {
  const path = info.outputPath('huge.safetensors');
  const file = openSync(path, 'w');
  writeSync(file, whole);
  ftruncateSync(file, 3e9); // sparse: it takes no room on the disk
  closeSync(file);
  const here = await open(page, 'own');
  await drop(page, here, 'good.npz', npz(small));
  await expect(heading(here)).toContainText('good.npz');
  await fileField(here).setInputFiles(path);
  await expect(refusal(here)).toContainText('The file is too large: up to 64 MiB are read.', { timeout: 2000 });
  await expectRow(page, here, small, 0, 0);
  rmSync(path);
});

test('a head of too many weights is refused', async ({ page }) => {
  const here = await open(page, 'own');
  await drop(page, here, 'long.npz', npz(smallProblem(1, 1001, 1000, 1)));
  await expect(refusal(here)).toContainText('1001 × 1000 weights; up to 1000000 are shown');
});

test('nothing is uploaded but the head that is looked at, and that to the machine\'s own engine', async ({ page }) => {
  const hosts = new Set<string>();
  page.on('request', (request) => hosts.add(new URL(request.url()).hostname));
  const here = await open(page, 'own');
  await drop(page, here, 'mine.npz', npz(small));
  await expectRow(page, here, small, 0, 0);
  expect([...hosts].filter((host) => host !== '')).toEqual(['127.0.0.1']);
});

test('by keyboard alone', async ({ page }) => {
  const chooser = page.waitForEvent('filechooser'); // the browser is told before the key is pressed
  const here = await open(page, 'own');
  await tabTo(page, here.getByRole('button', { name: 'Choose a file' }));
  await press(page, 'Enter');
  await (await chooser).setFiles({ name: 'mine.safetensors', mimeType: '', buffer: whole });
  await expectRow(page, here, small, 0, 0);
  await tabTo(page, slider(here, 'Head'));
  await press(page, 'ArrowRight');
  await tabTo(page, slider(here, 'Row'));
  await press(page, 'End');
  await expectRow(page, here, small, 1, 2);
  await tabTo(page, here.getByRole('application'));
  await press(page, 'ArrowDown', 'Enter'); // the map chooses its row
  await expectRow(page, here, small, 1, 1);
  await press(page, 'Escape');
  await tabTo(page, here.getByRole('button', { name: 'Close it' }), 'Shift+Tab');
  await press(page, 'Enter');
  await expect(heading(here)).toHaveCount(0);
});
