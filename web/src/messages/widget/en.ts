// The panel in a notebook, in English. What it shares with the page is in the page's words.
export const widget = {
  panel: 'Attention, every number of it',
  matrices: { q: 'queries', k: 'keys', v: 'values', masked: 'scores, as they enter the softmax', p: 'weights', o: 'output' },
  entry: (where: string, value: string) => `${where} = ${value}`,
  theme: 'as the notebook',
  hint: 'Point at a number, or walk by the arrow keys; a click or Enter chooses its row.',
  refused: 'The engine says:',
  silent: 'Asking the kernel. If nothing comes, it does not run: run the cell again.',
};
