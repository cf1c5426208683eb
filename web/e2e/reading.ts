// What a reader does with the page and sees on it: the words that the tests of the parts are written in.
import { readFileSync } from 'node:fs';
import { expect, type Locator, type Page } from '@playwright/test';

export const PARTS = [
  'dictionary', 'projections', 'bank', 'code', 'running', 'shapes', 'matrix', 'backward', 'own',
] as const;
export type PartName = (typeof PARTS)[number];
export type Rows = readonly (readonly number[])[];

/** The lesson's own numbers, tests/data/lesson. */
export const lesson = (name: 'bank' | 'running' | 'backward') =>
  JSON.parse(readFileSync(`../tests/data/lesson/${name}.json`, 'utf8'));

export const part = (page: Page, name: PartName) => page.locator(`[data-part=${name}]`);

/** Opens one part alone, as a teacher would show it; `state` is what else the address says: "matrix.n=8". */
export async function open(page: Page, name: PartName, state = ''): Promise<Locator> {
  const others = PARTS.filter((one) => one !== name);
  await page.goto(`./#_hide=${others.join(',')}${state && `&${state}`}`);
  const here = part(page, name);
  await expect(here).toBeVisible();
  return here;
}

/** The matrix with this letter on it. */
export function grid(where: Locator, symbol: string): Locator {
  return where.getByRole('grid', { name: new RegExp(`^${symbol.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}:`) });
}

export const cell = (found: Locator, row: number, column: number) =>
  found.locator('tbody tr').nth(row).getByRole('gridcell').nth(column);

const numberFrom = (text: string) => Number(text.replace('−', '-').replace(',', '.').replace('∞', 'Infinity'));

/** The numbers of a grid as they stand on the screen. */
export async function numbersOf(found: Locator): Promise<number[]> {
  return (await found.getByRole('gridcell').allTextContents()).map(numberFrom);
}

/** As `decimals` digits after the mark show it; no screen shows a zero's sign. */
export const rounded = (value: number, decimals = 2) => Number(value.toFixed(decimals)) + 0;

export async function expectNumbers(found: Locator, expected: readonly number[], decimals = 2) {
  await expect.poll(() => numbersOf(found)).toEqual(expected.map((value) => rounded(value, decimals)));
}

/** The numbers in a table's body, without the heads of its rows. */
export async function tableNumbers(table: Locator): Promise<number[]> {
  return (await table.locator('tbody td').allTextContents()).map(shortNumber);
}

/** The number that a short one on the screen stands for: "1.5·10⁻⁹" too. */
export function shortNumber(text: string): number {
  const plain = text.trim().replace('−', '-').replace(',', '.');
  const [, mantissa, exponent] = /^(.*)·10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)$/.exec(plain) ?? [];
  if (mantissa === undefined || exponent === undefined) return Number(plain);
  const power = [...exponent].map((digit) => (digit === '⁻' ? '-' : '⁰¹²³⁴⁵⁶⁷⁸⁹'.indexOf(digit))).join('');
  return Number(`${mantissa}e${power}`);
}

interface Stage {
  readonly name: string;
  readonly shape: readonly number[];
  readonly values: unknown;
}
export type Answer = Record<string, any> & { readonly stages: readonly Stage[]; readonly qkv: string };

/** What the engine answers, asked beside the page. */
export async function explained(page: Page, request: Readonly<Record<string, unknown>>): Promise<Answer> {
  const response = await page.request.post('./api/explain', { data: request });
  expect(response.ok(), await response.text()).toBe(true);
  return (await response.json()) as Answer;
}

/** A stage of an answer as rows of numbers, of one head where there are heads. */
export function rowsOf(answer: Answer, name: string, head = 0): number[][] {
  let values = answer.stages.find((stage) => stage.name === name)?.values as any;
  const depth = (value: unknown): number => (Array.isArray(value) ? 1 + depth(value[0]) : 0);
  if (depth(values) === 4) values = values[0][head];
  if (depth(values) === 3) values = values[0];
  return (values as unknown[][]).map((row) => row.map(Number));
}

/** Tab, pressed until the focus is there, as somebody without a mouse gets to it. */
export async function tabTo(page: Page, target: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab') {
  const isThere = () => target.evaluate((element) => element === document.activeElement);
  for (let pressed = 0; pressed < 120; ++pressed) {
    if (await isThere()) return;
    await page.keyboard.press(key);
  }
  throw new Error(`120 times ${key} did not reach ${target.toString()}`);
}

export async function press(page: Page, ...keys: readonly string[]) {
  for (const key of keys) await page.keyboard.press(key);
}

export const slider = (where: Locator, name: string | RegExp) => where.getByRole('slider', { name });
export const said = (page: Page) => page.getByTestId('live');
/** Waits until the state has rested: what comes next is a step of undo of its own, and the address is the present one. */
export const rested = (page: Page, address: RegExp) => expect(page).toHaveURL(address);
export const undo = (page: Page) => page.getByRole('button', { name: 'Undo' });

/** Switches and choices are drawn by a label over the field that a browser would draw. */
export async function toggle(where: Locator, name: string | RegExp) {
  await where.locator('label.switch').filter({ hasText: name }).click();
}
export async function choose(where: Locator, option: string) {
  await where.locator('.choice label').filter({ has: where.page().getByText(option, { exact: true }) }).click();
}
