// Part 1: the hard dictionary and the soft one are asked the same thing.
import { expect, test, type Locator, type Page } from '@playwright/test';
import { explained, open, press, rested, rounded, rowsOf, shortNumber, slider, tableNumbers, tabTo, undo } from './reading';

const STOCK = { apple: { degrees: 20, value: 3 }, pear: { degrees: 110, value: 7 } };
const arrow = (degrees: number, length: number) => [
  length * Math.cos((degrees * Math.PI) / 180),
  length * Math.sin((degrees * Math.PI) / 180),
];
const keys = Object.values(STOCK);

/** What the engine answers to questions of one length, beside the page. */
async function asked(page: Page, degrees: readonly number[], length = 3) {
  const answer = await explained(page, {
    q: degrees.map((one) => arrow(one, length)),
    k: keys.map((key) => arrow(key.degrees, 1)),
    v: keys.map((key) => [key.value]),
    scale: 1,
  });
  return { weights: rowsOf(answer, 'p'), answers: rowsOf(answer, 'o').map(([value]) => value ?? NaN) };
}

/** The soft side shows the engine's weights and answer for this question. */
async function expectSoft(page: Page, here: Locator, degrees: number, length = 3) {
  const { weights, answers } = await asked(page, [degrees], length);
  await expect(here.getByTestId('weight-apple')).toHaveText((weights[0]?.[0] ?? NaN).toFixed(2));
  await expect(here.getByTestId('weight-pear')).toHaveText((weights[0]?.[1] ?? NaN).toFixed(2));
  await expect(here.getByTestId('soft-answer')).toHaveText((answers[0] ?? NaN).toFixed(2));
}

const dial = (here: Locator) => slider(here, /^Direction of the question/);

test('a key gives its value on the hard side and a blend on the soft one', async ({ page }) => {
  const here = await open(page, 'dictionary');
  await here.getByRole('button', { name: 'pear' }).click();
  await expect(here.getByTestId('hard-answer')).toHaveText('7');
  await expectSoft(page, here, STOCK.pear.degrees);
  await here.getByRole('button', { name: 'apple' }).click();
  await expect(here.getByTestId('hard-answer')).toHaveText('3');
  await expectSoft(page, here, STOCK.apple.degrees);
});

test('a missing key is an error on the hard side; the soft one still answers', async ({ page }) => {
  const here = await open(page, 'dictionary');
  await here.getByRole('button', { name: 'plum' }).click();
  await expect(here.getByTestId('hard-answer')).toHaveText("KeyError: 'plum'");
  await expectSoft(page, here, 80);
  await undo(page).click();
  await expect(here.getByTestId('hard-answer')).toHaveText('3');
});

test('the dial is turned by hand and holds a key that it comes near', async ({ page }) => {
  const here = await open(page, 'dictionary');
  await dial(here).scrollIntoViewIfNeeded();
  const box = await dial(here).boundingBox();
  if (!box) throw new Error('the dial is not on the screen');
  const at = (degrees: number) => {
    const [x = 0, y = 0] = arrow(degrees, box.width / 4);
    return [box.x + box.width / 2 + x, box.y + box.height / 2 - y] as const;
  };
  await page.mouse.move(...at(20));
  await page.mouse.down();
  await page.mouse.move(...at(60), { steps: 5 });
  await expect(dial(here)).toHaveAttribute('aria-valuenow', '60');
  await expectSoft(page, here, 60);
  await page.mouse.move(...at(108), { steps: 5 });
  await page.mouse.up();
  await expect(dial(here)).toHaveAttribute('aria-valuenow', '110');
  await expect(here.getByTestId('hard-answer')).toHaveText('7');
  await undo(page).click(); // a drag is one step
  await expect(dial(here)).toHaveAttribute('aria-valuenow', '20');
});

test('a question of length 0 weighs everything alike; a long one is almost the hard dictionary', async ({ page }) => {
  const here = await open(page, 'dictionary', 'dictionary.turn=110');
  await slider(here, 'Length of the question').fill('0');
  await expect(here.getByTestId('soft-answer')).toHaveText('5.00');
  await expectSoft(page, here, 110, 0);
  await slider(here, 'Length of the question').fill('12');
  await expectSoft(page, here, 110, 12);
  await expect(here.getByTestId('weight-pear')).toHaveText('1.00');
});

test('the curve\'s table is the engine\'s answer all the way round', async ({ page }) => {
  const here = await open(page, 'dictionary', 'dictionary.length=5');
  await here.getByText('As a table: The answer, all the way round').click();
  const degrees = Array.from({ length: 25 }, (_, at) => at * 15);
  const { answers } = await asked(page, degrees, 5);
  const shown = await tableNumbers(here.getByRole('region', { name: 'The answer, all the way round' }));
  expect(shown).toEqual(answers.map((value) => Number(value.toPrecision(4))));
});

test('two arrows have a large, a vanishing and a negative product', async ({ page }) => {
  const here = await open(page, 'dictionary');
  const shown = here.locator('.two-arrows figcaption b');
  await expect.poll(async () => (await shown.allTextContents()).map(shortNumber)).toEqual(
    [20, 90, 155].map((degrees) => rounded(arrow(degrees, 1)[0] ?? NaN)),
  );
});

test('by keyboard alone', async ({ page }) => {
  const here = await open(page, 'dictionary');
  await tabTo(page, here.getByRole('button', { name: 'plum' }));
  await press(page, 'Enter');
  await expect(here.getByTestId('hard-answer')).toHaveText("KeyError: 'plum'");
  await tabTo(page, dial(here));
  await press(page, 'PageUp', 'PageUp', 'ArrowRight'); // 80 + 15 + 15 − 1
  await expect(dial(here)).toHaveAttribute('aria-valuetext', /^109 degrees; weight on apple/);
  await expect(here.getByTestId('hard-answer')).toContainText('KeyError');
  await press(page, 'ArrowLeft');
  await expect(dial(here)).toHaveAttribute('aria-valuetext', /^110 degrees, exactly at pear/);
  await expect(here.getByTestId('hard-answer')).toHaveText('7');
  await tabTo(page, slider(here, 'Turn the question'));
  await press(page, 'Home', 'ArrowRight');
  await expect(dial(here)).toHaveAttribute('aria-valuenow', '1');
  await rested(page, /dictionary\.turn=1\b/);
  await tabTo(page, slider(here, 'Length of the question'));
  await press(page, 'End');
  await expectSoft(page, here, 1, 12);
  await press(page, 'Control+z');
  await expectSoft(page, here, 1);
});
