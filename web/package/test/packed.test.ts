// The package as a user has it: packed, installed into an empty folder, type-checked, run.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const built = resolve('../build-npm');
let folder = '';
const run = (program: string, ...words: string[]) => execFileSync(program, words, { cwd: folder, encoding: 'utf8' });

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'qkv-consumer-'));
  writeFileSync(join(folder, 'package.json'), '{"name": "consumer", "private": true, "type": "module"}');
  const packed = run('npm', 'pack', '--silent', built).trim();
  run('npm', 'install', '--offline', '--no-audit', '--no-fund', '--loglevel=error', `./${packed}`);
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('it holds the module, code with types, its license, and nothing else', () => {
  const [{ files }] = JSON.parse(run('npm', 'pack', '--dry-run', '--json', built)) as [{ files: { path: string }[] }];
  const code = ['engine', 'error', 'index', 'instance', 'node', 'types'].flatMap((name) => [`${name}.d.ts`, `${name}.js`]);
  expect(files.map(({ path }) => path).sort()).toEqual(['LICENSE', 'README.md', ...code, 'package.json', 'qkv.wasm'].sort());
});

test('it has the version of the library', () => {
  const version = /QKV_VERSION "([^"]+)"/.exec(readFileSync('../include/qkv/version.h', 'utf8'))?.[1];
  expect(JSON.parse(readFileSync(join(built, 'package.json'), 'utf8')).version).toBe(version);
});

test('a strict TypeScript program compiles without the types of the browser, and runs', () => {
  cpSync('package/test/consumer.ts', join(folder, 'consumer.ts'));
  const rules = ['--strict', '--noUncheckedIndexedAccess', '--exactOptionalPropertyTypes', '--noPropertyAccessFromIndexSignature'];
  const types = ['--target', 'es2022', '--module', 'nodenext', '--lib', 'es2022', '--types', 'node', '--typeRoots', resolve('node_modules/@types')];
  run(resolve('node_modules/.bin/tsc'), ...rules, ...types, 'consumer.ts');
  const said = JSON.parse(run('node', 'consumer.js'));
  expect(said).toEqual({ numbers: 4, axes: [2], code: 'invalid_argument', kind: 'attention' });
}, 60_000);

test("the README's example prints what the README says", () => {
  const blocks = [...readFileSync(join(built, 'README.md'), 'utf8').matchAll(/```(\w*)\n([^]*?)```/g)];
  const block = (language: string) => blocks.find(([, found]) => found === language)?.[2] ?? '';
  writeFileSync(join(folder, 'example.js'), block('js'));
  expect(run('node', 'example.js')).toBe(block(''));
});

test('the entry for browsers gives the same as the one for Node', async () => {
  const module = readFileSync(join(built, 'qkv.wasm'));
  const asked: string[] = [];
  const real = globalThis.fetch;
  globalThis.fetch = async (place) => {
    asked.push(String(place));
    return new Response(module);
  };
  try {
    const browser = (await import(join(built, 'index.js'))) as typeof import('../src/index');
    const node = (await import(join(built, 'node.js'))) as typeof import('../src/node');
    expect(await browser.explain({ example: 'bank' })).toEqual(await node.explain({ example: 'bank' }));
    await browser.load();
    expect(asked).toEqual([`file://${join(built, 'qkv.wasm')}`]); // beside the code, and once
  } finally {
    globalThis.fetch = real;
  }
});
