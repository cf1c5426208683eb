// The panel in a notebook, in Portuguese.
export const widget = {
  panel: 'Atenção, cada número dela',
  matrices: { q: 'consultas', k: 'chaves', v: 'valores', masked: 'pontuações, como entram na softmax', p: 'pesos', o: 'saída' },
  entry: (where: string, value: string) => `${where} = ${value}`,
  theme: 'como o notebook',
  hint: 'Aponte para um número, ou ande com as setas; um clique ou Enter escolhe a linha.',
  refused: 'O motor diz:',
  silent: 'Perguntando ao kernel. Se nada vier, ele não está rodando: execute a célula de novo.',
};
