// Copying says whether it worked, whatever the browser allows.
import { afterEach, expect, it, vi } from 'vitest';
import { copyText } from '../src/model/clipboard';

afterEach(() => vi.unstubAllGlobals());

it('hands the text to the clipboard', async () => {
  const writeText = vi.fn(() => Promise.resolve());
  vi.stubGlobal('navigator', { clipboard: { writeText } });
  expect(await copyText('a link')).toBe(true);
  expect(writeText).toHaveBeenCalledWith('a link');
});

it('says so where there is no clipboard, and where it is refused', async () => {
  vi.stubGlobal('navigator', {});
  expect(await copyText('a link')).toBe(false);
  vi.stubGlobal('navigator', { clipboard: { writeText: () => Promise.reject(new DOMException('no', 'NotAllowedError')) } });
  expect(await copyText('a link')).toBe(false);
});
