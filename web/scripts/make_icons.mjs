// Draws the icons of an installed page from public/icon.svg: node scripts/make_icons.mjs, in web/. The results are kept in
// public/, so that building the site needs no browser.
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

const svg = readFileSync('public/icon.svg', 'utf8');
// Where the system cuts the corners itself, the ground reaches them; in a mask it may cut up to a tenth of every side.
const square = svg.replace(/rx="6"/, '');
const masked = square.replace('<g ', '<g transform="translate(3.2 3.2) scale(.8)" ');
const ICONS = [
  ['icon-192.png', 192, svg],
  ['icon-512.png', 512, svg],
  ['icon-maskable-512.png', 512, masked],
  ['apple-touch-icon.png', 180, square],
];

const browser = await chromium.launch({
  executablePath: process.env.QKV_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
const page = await browser.newPage();
for (const [name, size, drawing] of ICONS) {
  await page.setViewportSize({ width: size, height: size });
  await page.setContent(`<style>* { margin: 0 } svg { display: block; width: 100vw }</style>${drawing}`);
  await page.screenshot({ path: `public/${name}`, omitBackground: true });
}
await browser.close();
