// A page that loads the panel's module and gives it a model and an element, as anywidget does in a notebook.
import { readFileSync } from 'node:fs';
import type { Page } from '@playwright/test';
import { explained } from './reading';

const NOTEBOOK = 'http://notebook.test/lab/tree/mine.ipynb?token=secret';
const script = () => readFileSync('../build/widget/widget.js', 'utf8');

/** A notebook around the panel: what it says of its theme, and whether its kernel answers. */
export interface Notebook {
  readonly theme?: 'light' | 'dark';
  readonly isSilent?: boolean;
}

// What anywidget does: a model of the kernel's object, an element, and the module's default.
const HOST = `
  import widget from './widget.js';
  const { answers, heads, isSilent } = JSON.parse(document.getElementById('kernel').textContent);
  const traits = { answer: answers[0], batch: 0, head: 0, batches: 1, heads };
  const calls = new Map();
  const change = (name, value) => { traits[name] = value; for (const call of calls.get('change:' + name) ?? []) call(); };
  const model = {
    get: (name) => traits[name],
    set: change,
    save_changes: () => isSilent || setTimeout(() => change('answer', answers[traits.head]), 50),
    on: (event, call) => calls.set(event, [...(calls.get(event) ?? []), call]),
    off: (event, call) => calls.set(event, (calls.get(event) ?? []).filter((one) => one !== call)),
  };
  globalThis.pressed = [];
  document.addEventListener('keydown', (event) => globalThis.pressed.push(event.key));
  globalThis.show = () => (globalThis.takeAway = widget.render({ model, el: document.getElementById('cell') }));
  globalThis.show();
`;

const inert = (text: string) => text.replaceAll('<', '\\u003c');

/** Opens a notebook whose kernel has these answers, one a head; gives the panel and what went wrong. */
export async function openNotebook(page: Page, answers: readonly object[], { theme, isSilent = false }: Notebook = {}) {
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => problems.push(request.url()));
  const texts = answers.map((answer, head) => JSON.stringify({ batch: 0, head, ...answer }));
  const kernel = inert(JSON.stringify({ answers: texts, heads: answers.length, isSilent }));
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>A notebook</title>
    <body ${theme ? `data-jp-theme-light="${theme === 'light'}"` : ''}><main><h1>A notebook</h1><div id="cell"></div></main>
    <script id="kernel" type="application/json">${kernel}</script><script type="module">${HOST}</script></body></html>`;
  await page.route('http://notebook.test/**', (route) =>
    route.request().url().endsWith('/widget.js')
      ? route.fulfill({ contentType: 'text/javascript', body: script() })
      : route.fulfill({ contentType: 'text/html', body: html }),
  );
  await page.goto(NOTEBOOK);
  return { panel: page.getByRole('region', { name: /Attention|Atenção/ }), problems };
}

/** The documents of the running example's two heads, from the engine itself. */
export const heads = (page: Page, fields: object = {}) =>
  Promise.all([0, 1].map(async (head) => ({ document: await explained(page, { example: 'running', causal: true, head, ...fields }) })));
