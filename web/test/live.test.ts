// A document that follows the page's state: one question at a time, the newest next, and long ones can be given up.
import { signal } from '@preact/signals';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Json } from '../src/source/source';

interface Question {
  readonly asked: Json;
  readonly signal: AbortSignal;
  resolve(document: Json): void;
  reject(error: Error): void;
}

const questions: Question[] = [];
vi.mock('../src/source/chosen', () => ({
  source: () => ({
    ask: (asked: Json, signal: AbortSignal) =>
      new Promise((resolve, reject) => {
        questions.push({ asked, signal, resolve, reject });
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      }),
  }),
}));

const { live, stoppable } = await import('../src/source/live');
const rest = () => vi.advanceTimersByTimeAsync(0);
const last = () => questions.at(-1) as Question;

beforeEach(() => {
  vi.useFakeTimers();
  questions.length = 0;
});

describe('a live document', () => {
  it('is asked for again when what it depends on changes; of many changes only the newest', async () => {
    const row = signal(1);
    const answer = live(() => ({ row: row.value }));
    row.value = 2;
    row.value = 3;
    expect(questions).toHaveLength(1);
    last().resolve({ kind: 'first' });
    await rest();
    expect(questions.map(({ asked }) => asked)).toEqual([{ row: 1 }, { row: 3 }]);
    expect(answer.value).toMatchObject({ document: { kind: 'first' }, request: { row: 1 }, error: null });
  });

  it('stays after a mistake, which is told until the next answer', async () => {
    const row = signal(1);
    const answer = live(() => ({ row: row.value }));
    last().resolve({ kind: 'good' });
    await rest();
    row.value = 2;
    last().reject(new Error('row 2 is none'));
    await rest();
    expect(answer.value).toMatchObject({ document: { kind: 'good' }, error: 'row 2 is none' });
    row.value = 1;
    last().resolve({ kind: 'good again' });
    await rest();
    expect(answer.value).toMatchObject({ document: { kind: 'good again' }, error: null });
  });

  it('asks nothing while there is nothing to ask', () => {
    live(() => null);
    expect(questions).toHaveLength(0);
  });
});

describe('a question that takes long', () => {
  it('says so after a while, and no longer when it is answered', async () => {
    const { progress } = stoppable(() => ({ row: 1 }));
    expect(progress.value).toBe('none');
    await vi.advanceTimersByTimeAsync(1000);
    expect(progress.value).toBe('slow');
    last().resolve({});
    await rest();
    expect(progress.value).toBe('none');
  });

  it('can be given up, which is no mistake, and asked once more', async () => {
    const { answer, progress, stop, resume } = stoppable(() => ({ row: 1 }));
    stop();
    await rest();
    expect(last().signal.aborted).toBe(true);
    expect([progress.value, answer.value.error, answer.value.document]).toEqual(['stopped', null, null]);
    resume();
    expect(questions).toHaveLength(2);
    last().resolve({ kind: 'late' });
    await rest();
    expect([progress.value, answer.value.document]).toEqual(['none', { kind: 'late' }]);
  });
});
