// The clipboard, where there is one: a page from another host over http has none, and a browser may refuse it.

/** Whether `text` is now in the clipboard; if not, the page shows it so that the reader can copy it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
