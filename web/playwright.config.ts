// The page in a real browser, served by the built tool, the static site and the npm package: `npm run e2e` after `make build site npm`.
import { existsSync } from 'node:fs';
import { defineConfig } from '@playwright/test';

// Several checkouts can be tested at once on one machine, each on its own port.
const PORT = Number(process.env['QKV_E2E_PORT'] ?? 8759);
const browser = process.env['QKV_CHROMIUM'] ?? ['/usr/bin/chromium', '/usr/bin/google-chrome'].find(existsSync);
if (!browser) throw new Error('no Chromium was found; install the package chromium, or set QKV_CHROMIUM to one');

export default defineConfig({
  testDir: './e2e',
  outputDir: '../build/e2e',
  workers: 1,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  reporter: process.env['QKV_JUNIT'] ? [['line'], ['junit', { outputFile: process.env['QKV_JUNIT'] }]] : 'list',
  use: {
    baseURL: `http://127.0.0.1:${PORT}/`,
    viewport: { width: 1280, height: 900 },
    locale: 'en-US',
    launchOptions: { executablePath: browser, args: ['--no-sandbox'] },
  },
  projects: [
    { name: 'page', testMatch: /(?<!site|package)\.spec\.ts$/ },
    { name: 'site', testMatch: /(site|package)\.spec\.ts$/ },
    { name: 'pictures', testMatch: /pictures\.ts$/ },
  ],
  webServer: {
    command: `../build/qkv explore --port ${PORT}`,
    url: `http://127.0.0.1:${PORT}/`,
    reuseExistingServer: false,
  },
});
