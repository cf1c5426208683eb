// Reports of `qkv check --html`, made by the built tool of the wrong functions in examples/check.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { CheckReport } from '../src/model/check_report';

const TOOL = resolve('../build/qkv');

export interface Library {
  readonly folder: string;
  readonly path: string;
}

/** A folder of its own with a library of `examples/check/NAME.c` in it. */
export function compiled(name: string): Library {
  const folder = mkdtempSync(join(tmpdir(), 'qkv-report-'));
  const path = join(folder, `${name}.so`);
  execFileSync(process.env['CC'] ?? 'cc', ['-O2', '-shared', '-fPIC', '-I../include', `../examples/check/${name}.c`, '-o', path, '-lm']);
  return { folder, path };
}

export function run(options: readonly string[], folder = '.') {
  return spawnSync(TOOL, ['check', ...options], { encoding: 'utf8', cwd: folder });
}

export interface Checked {
  readonly status: number | null;
  readonly said: string; // on standard error
  readonly report: CheckReport; // what --json printed beside it
  readonly address: string; // file://
}

export function check(options: readonly string[], html: string, folder = '.'): Checked {
  const { status, stdout, stderr } = run([...options, '--json', '--html', html], folder);
  return { status, said: stderr, report: JSON.parse(stdout) as CheckReport, address: `file://${html}` };
}
