// The npm package in a browser: its files as they are, and bundled.
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test, type Page } from '@playwright/test';
import { build } from 'vite';
import { lesson } from './reading';
import { serve } from './static_host';

let folder = '';
test.beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'qkv-browser-'));
});
test.afterEach(() => rmSync(folder, { recursive: true, force: true }));

const { q, k, v, expected } = lesson('bank');

/** A page that attends to the lesson's tokens with the package at `place`, and shows the answer. */
function write(place: string) {
  writeFileSync(join(folder, 'index.html'), '<!doctype html><body></body><script type="module" src="./main.js"></script>');
  const tensor = (rows: readonly number[][]) => `{ data: Float32Array.of(${rows.flat()}), shape: [${rows.length}, 2] }`;
  const call = `attention(${[q, k, v].map(tensor).join(', ')})`;
  const show = '(found) => { document.body.textContent = JSON.stringify(Array.from(found)); }';
  writeFileSync(join(folder, 'main.js'), `import { attention } from '${place}';\n${call}.then(({ o }) => o.data).then(${show});\n`);
}

async function expectTheAnswer(page: Page, root: string) {
  const host = await serve(root);
  await page.goto(host.address);
  await expect(page.locator('body')).toContainText(']');
  const found = JSON.parse((await page.locator('body').textContent()) ?? '') as number[];
  expect(found.map((value) => value.toFixed(5))).toEqual(expected.output.flat().map((value: number) => value.toFixed(5)));
  await host.close();
}

test('its files work as they are', async ({ page }) => {
  cpSync('../build-npm', join(folder, 'qkv'), { recursive: true });
  write('./qkv/index.js');
  await expectTheAnswer(page, folder);
});

test('a bundler takes the module along', async ({ page }) => {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(resolve('../build-npm'), join(folder, 'node_modules/qkv'));
  write('qkv');
  await build({ configFile: false, root: folder, base: './', logLevel: 'error', build: { target: 'es2022' } });
  await expectTheAnswer(page, join(folder, 'dist'));
});
