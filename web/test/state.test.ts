// The table of properties, the address that holds it, and undo.
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { integer } from '../src/model/codec';

const REST = 500; // ms, longer than the state takes to settle
const page = { hash: '', href: 'http://here/' };
let follow: (() => void) | undefined; // what the page does when its hash changes

/** A page opened at an address, with one property that is undone and one that is not. */
async function opened(hash: string) {
  vi.resetModules();
  page.hash = hash;
  page.href = `http://here/${hash}`;
  const state = await import('../src/model/state');
  const row = state.property('bank.row', integer(0, 9), 1);
  const look = state.property('zoom', integer(0, 9), 0, { isUndoable: false });
  state.followAddress();
  return { state, row, look };
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.clearAllTimers(); // of the page before
  vi.stubGlobal('location', page);
  vi.stubGlobal('addEventListener', (_: string, listener: () => void) => (follow = listener));
  vi.stubGlobal('history', { replaceState: vi.fn((_: unknown, __: string, hash: string) => (page.hash = hash === '#' ? '' : hash)) });
});

describe('the address', () => {
  it('holds what differs from the default, and nothing else', async () => {
    const { state, row } = await opened('');
    expect(state.addressNow()).toBe('http://here/');
    row.value = 2;
    expect(state.addressNow()).toBe('http://here/#bank.row=2');
    vi.advanceTimersByTime(REST);
    expect(page.hash).toBe('#bank.row=2');
    row.value = 1;
    vi.advanceTimersByTime(REST);
    expect(page.hash).toBe('');
  });

  it('gives properties their values, and the default for what does not fit', async () => {
    expect((await opened('#bank.row=3&unknown=1')).row.value).toBe(3);
    expect((await opened('#bank.row=77')).row.value).toBe(1);
  });

  it('is not written when it says the same already', async () => {
    await opened('#bank.row=3');
    vi.advanceTimersByTime(REST);
    expect(history.replaceState).not.toHaveBeenCalled();
  });

  it('is followed when the reader changes it', async () => {
    const { row, look } = await opened('#bank.row=3');
    page.hash = '#zoom=4';
    follow?.();
    expect([row.value, look.value]).toEqual([1, 4]);
  });
});

describe('undo', () => {
  it('takes a drag back in one step, and redo brings it again', async () => {
    const { state, row } = await opened('');
    for (const value of [2, 3, 4]) row.value = value;
    vi.advanceTimersByTime(REST);
    row.value = 7;
    state.undo();
    expect(row.value).toBe(4);
    state.undo();
    expect(row.value).toBe(1);
    expect(state.canUndo.value).toBe(false);
    state.redo();
    state.redo();
    expect(row.value).toBe(7);
    expect(state.canRedo.value).toBe(false);
  });

  it('is there at once, before the state has rested, and then nothing can be redone', async () => {
    const { state, row } = await opened('');
    row.value = 2;
    expect(state.canUndo.value).toBe(true);
    state.undo();
    expect([row.value, state.canUndo.value, state.canRedo.value]).toEqual([1, false, true]);
    row.value = 3;
    expect([state.canUndo.value, state.canRedo.value]).toEqual([true, false]);
    row.value = 1;
    expect(state.canUndo.value).toBe(false);
  });

  it('leaves alone where one looks', async () => {
    const { state, row, look } = await opened('');
    row.value = 2;
    look.value = 5;
    state.undo();
    expect([row.value, look.value]).toEqual([1, 5]);
    look.value = 6;
    vi.advanceTimersByTime(REST);
    expect(state.canUndo.value).toBe(false);
  });

  it('takes a start again back too', async () => {
    const { state, row } = await opened('');
    row.value = 6;
    state.reset('bank.');
    expect(row.value).toBe(1);
    state.undo();
    expect(row.value).toBe(6);
  });
});

it('two properties cannot have one name', async () => {
  const { state } = await opened('');
  expect(() => state.property('zoom', integer(0, 1), 0)).toThrow('zoom');
});
