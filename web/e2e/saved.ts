// Files that the page saves, read again.
import { readFileSync } from 'node:fs';
import type { Locator, Page } from '@playwright/test';

export interface Provenance {
  readonly engine: string;
  readonly part: string;
  readonly address: string;
  readonly problem?: string;
  readonly options?: Readonly<Record<string, unknown>>;
  readonly made: string;
}

/** Opens the menu at `name`, presses a format and gives what is downloaded. */
export async function saved(page: Page, here: Locator, name: string, format: 'SVG' | 'PNG' | 'CSV' | 'JSON') {
  await here.getByRole('button', { name: `Save ${name} as a file`, exact: true }).first().click();
  const download = page.waitForEvent('download');
  await page.getByRole('menuitem', { name: new RegExp(`^${format} `) }).click();
  const file = await download;
  return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
}

/** The fields of a line of a CSV (RFC 4180). */
function fieldsOf(line: string): string[] {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '');
}

export function readCsv(bytes: Buffer) {
  const lines = bytes.toString().trimEnd().split('\n');
  const from = lines.filter((line) => line.startsWith('# ')).map((line) => line.slice(2).split(/: (.*)/, 2));
  const [columns = [], ...body] = lines.filter((line) => !line.startsWith('# ')).map(fieldsOf);
  return {
    from: Object.fromEntries(from) as Readonly<Record<keyof Provenance, string>>,
    columns: columns.slice(1),
    rows: body.map(([name]) => name),
    values: body.map((fields) => fields.slice(1).map(Number)),
  };
}

export function readJson(bytes: Buffer) {
  const content = JSON.parse(bytes.toString());
  return content as { provenance: Provenance; name: string; rows: string[]; columns: string[]; values: number[][] };
}

/** Parses an SVG as a browser does, strictly. */
export function readSvg(page: Page, bytes: Buffer) {
  return page.evaluate((text) => {
    const { documentElement: root } = new DOMParser().parseFromString(text, 'image/svg+xml');
    return {
      root: root.tagName,
      texts: [...root.querySelectorAll('text')].map((one) => one.textContent ?? ''),
      metadata: root.querySelector('metadata')?.textContent ?? '',
      classes: root.querySelectorAll('[class]').length,
      size: [Number(root.getAttribute('width')), Number(root.getAttribute('height'))],
    };
  }, bytes.toString());
}

/** The size of a PNG that the browser can decode, the share of its pixels that are not white, and what it says of its origin. */
export async function readPng(page: Page, bytes: Buffer) {
  const picture = await page.evaluate(async (text) => {
    const content = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([content], { type: 'image/png' }));
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
    const place = canvas.getContext('2d');
    place?.drawImage(bitmap, 0, 0);
    const pixels = place?.getImageData(0, 0, bitmap.width, bitmap.height).data ?? [];
    let inked = 0;
    for (let at = 0; at < pixels.length; at += 4) if ((pixels[at] ?? 255) < 250) inked += 1;
    return { size: [bitmap.width, bitmap.height], inked: (4 * inked) / pixels.length };
  }, bytes.toString('base64'));
  const [, text = '{}'] = /iTXtprovenance\0{5}(\{.*?\})(?=.{8}(IDAT|sRGB|iCCP|gAMA|pHYs))/su.exec(bytes.toString('latin1')) ?? [];
  return { ...picture, provenance: JSON.parse(Buffer.from(text, 'latin1').toString()) as Provenance };
}
