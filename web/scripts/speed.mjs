// What the page costs: time to first paint, and main-thread time of an edit, in the built page and a real browser.
//   npm run speed [-- --rounds 9] [--json]      after `make build` and `make site`
// The main thread's time of one step is everything it did from the key press until the page rests: script, style, layout
// and paint (the browser's own TaskDuration), by the clock and in CPU time: where they differ, something else was running.
// Rounds alternate between what is measured; medians are printed.
import { existsSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '9' }, json: { type: 'boolean', default: false } } });
const rounds = Number(options.rounds);
if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`--rounds: expected a number from 1, found ${options.rounds}`);
const STEPS = 10; // of each thing in a round
const executablePath = process.env.QKV_CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/google-chrome'].find(existsSync);
const [ENGINE, SITE] = ['http://127.0.0.1:8761/', 'http://127.0.0.1:8762/'];

/** Runs a server until the script ends; resolves when it answers. */
async function serve(command, args, address) {
  const server = spawn(command, args, { stdio: 'ignore' });
  process.on('exit', () => server.kill());
  for (let attempt = 0; attempt < 100; ++attempt) {
    if (await fetch(address).then((answer) => answer.ok, () => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${command} ${args.join(' ')} does not answer at ${address}`);
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** First and largest contentful paint of a visit with an empty cache, in ms. */
async function paint(browser, address) {
  const context = await browser.newContext({ serviceWorkers: 'block' });
  const page = await context.newPage();
  await page.goto(address);
  await page.getByTestId('bank-answer').waitFor();
  const times = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const first = performance.getEntriesByName('first-contentful-paint')[0].startTime;
        new PerformanceObserver((list) => resolve({ first, largest: list.getEntries().at(-1).startTime, computed: performance.now() })).observe({
          type: 'largest-contentful-paint',
          buffered: true,
        });
      }),
  );
  await context.close();
  return times;
}

/** The main thread's time, in ms, of each of STEPS steps: by the clock, and its CPU time. */
async function steps(browser, { address, prepare, step }) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, serviceWorkers: 'block' });
  const page = await context.newPage();
  await page.goto(address);
  await page.getByTestId('bank-answer').waitFor();
  await prepare(page);
  await page.waitForTimeout(800);
  const busy = [];
  for (const timeDomain of ['timeTicks', 'threadTicks']) {
    const client = await context.newCDPSession(page);
    await client.send('Performance.enable', { timeDomain });
    busy.push(async () => (await client.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value * 1000);
  }
  const read = async () => [await busy[0](), await busy[1]()];
  const taken = { clock: [], cpu: [] };
  for (let index = -2; index < STEPS; ++index) {
    const before = await read();
    await step(page, index);
    await page.waitForTimeout(550); // the answer, its paint, and the address, which follows after 400 ms
    const after = await read();
    if (index < 0) continue; // warming up
    taken.clock.push(after[0] - before[0]);
    taken.cpu.push(after[1] - before[1]);
  }
  await context.close();
  return taken;
}

const cell = (part, name) => async (page) => {
  const grid = page.locator(`[data-part=${part}]`).getByRole('grid', { name: new RegExp(`^${name}:`) });
  await grid.getByRole('gridcell').first().click();
  await page.keyboard.press('End');
};
const slider = (part, name) => (page) => page.locator(`[data-part=${part}]`).getByRole('slider', { name }).focus();
const alternate = (one, other) => (page, index) => page.keyboard.press(index % 2 ? one : other);

const things = [
  { name: 'nothing (the measure itself)', prepare: async () => {}, step: async () => {}, hash: '' },
  { name: 'part 3: a key press in a cell of V', prepare: cell('bank', 'V'), step: alternate('5', 'Backspace'), hash: '' },
  {
    name: 'part 5: the causal mask',
   
    prepare: (page) => page.locator('[data-part=running]').getByRole('switch', { name: 'Causal mask' }).focus(),
    step: (page) => page.keyboard.press('Space'),
    hash: '',
  },
  {
    name: 'part 5: another row',
   
    prepare: (page) => page.locator('[data-part=running] input[type=radio]:checked').first().focus(),
    step: alternate('ArrowLeft', 'ArrowRight'),
    hash: '',
  },
  { name: 'part 7: a step of d_k, n = 24', prepare: slider('matrix', /width|d_k/i), step: alternate('ArrowLeft', 'ArrowRight'), hash: '#matrix.n=24' },
  { name: 'part 7: a step of d_k, n = 64, d_k = 256', prepare: slider('matrix', /width|d_k/i), step: alternate('ArrowRight', 'ArrowLeft'), hash: '#matrix.n=64&matrix.d=256' },
];
const places = [
  ['http', ENGINE],
  ['wasm', SITE],
];

await serve('../build/qkv', ['explore', '--port', '8761'], ENGINE);
await serve('npx', ['vite', 'preview', '--outDir', '../build-site', '--port', '8762', '--host', '127.0.0.1', '--strictPort'], SITE);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const found = new Map();
const add = (key, times) => found.set(key, [...(found.get(key) ?? []), ...times]);
for (let round = 0; round < rounds; ++round) {
  if (process.stderr.isTTY) process.stderr.write(`\rround ${round + 1} of ${rounds} `);
  for (const [kind, address] of places) {
    const { first, largest, computed } = await paint(browser, address);
    add(`${kind}: first contentful paint`, [first]);
    add(`${kind}: largest contentful paint`, [largest]);
    add(`${kind}: part 3 computed`, [computed]);
    for (const thing of things) {
      const { clock, cpu } = await steps(browser, { ...thing, address: address + thing.hash });
      add(`${kind}: ${thing.name}`, clock);
      add(`${kind}: ${thing.name}, CPU`, cpu);
    }
  }
}
if (process.stderr.isTTY) process.stderr.write('\n');
await browser.close();
const table = [...found].map(([name, times]) => ({ name, median: median(times), least: Math.min(...times), most: Math.max(...times), of: times.length }));
if (options.json) console.log(JSON.stringify(table, null, 1));
else {
  console.log(`${'ms'.padEnd(58)}${['median', 'least', 'most', 'of'].map((text) => text.padStart(8)).join('')}`);
  for (const { name, median: middle, least, most, of } of table)
    console.log(`${name.padEnd(58)}${[middle, least, most].map((ms) => ms.toFixed(1).padStart(8)).join('')}${String(of).padStart(8)}`);
}
process.exit(0);
