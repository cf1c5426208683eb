// After a call that broke off, the next one is answered by a new instance.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { QkvError } from '../src/error';
import { Instance } from '../src/instance';
import { withSpareMemory } from './small_memory';

const SPARE = 16; // pages: enough for the lesson
const small = withSpareMemory(readFileSync('../build-npm/qkv.wasm'), SPARE);
const instance = new Instance(new WebAssembly.Module(small));
const explain = (request: object) => instance.run((call) => call.ask('qkv_explain', JSON.stringify(request)));

function refusal(work: () => unknown): QkvError {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(QkvError);
    return error as QkvError;
  }
  throw new Error('nothing was thrown');
}

describe('a module without memory', () => {
  test('says that it stopped, and the next request is answered as the first was', () => {
    const before = explain({ example: 'bank' });
    const large = { example: 'bank', source: 'x'.repeat(400_000) }; // there is room for it, but not for all its copies
    for (let round = 0; round < 5; ++round) {
      const stopped = refusal(() => explain(large));
      expect(stopped.code).toBe('stopped');
      expect(stopped.message).toMatch(/^the engine stopped \(.+\), most likely for want of memory/);
      expect(explain({ example: 'bank' })).toBe(before);
    }
  });

  test('refuses an input that it has no room for without breaking off', () => {
    const refused = refusal(() => instance.run((call) => call.put(new Float32Array(SPARE * 65536))));
    expect(refused.code).toBe('out_of_memory');
    expect(refused.message).toContain(`${SPARE * 65536 * 4} bytes`);
    expect(explain({ example: 'bank' })).toContain('"problem"');
  });

  test('gives every byte back after an answer and after a refusal', () => {
    const unknown = 'x'.repeat(10_000); // is in the request, and in the message
    for (let round = 0; round < 100; ++round) {
      expect(explain({ example: 'running' }).length).toBeGreaterThan(10_000);
      expect(refusal(() => explain({ example: unknown })).code).toBe('invalid_argument');
    }
  });
});
