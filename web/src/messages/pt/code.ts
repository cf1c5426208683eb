// A parte 4 em português: o mesmo em código.
import type { code as english } from '../en/code';

export const code: typeof english = {
  title: 'O mesmo em código',
  lead:
    'O que você fez à mão são três linhas. Os três tokens perguntam ao mesmo tempo: Q é uma matriz, e um só produto ' +
    'compara cada consulta com cada chave.',
  languages: { numpy: 'NumPy', cpp: 'C++', shell: 'Terminal' },
  tabs: 'Linguagem do código',
  notes: {
    numpy:
      'Escores, pesos, resposta. logaddexp é o logaritmo da soma das exponenciais, calculado de modo que nenhuma ' +
      'exponencial estoure: exp(S − log Σ exp S) é o softmax.',
    cpp:
      'A biblioteca nunca escreve A na memória, e é assim que lê textos longos gastando pouco. Com a identidade no lugar ' +
      'de V, ela devolve A I = A.',
    shell:
      'Todos os passos em uma página, e depois com um número mudado. Precisa do qkv no caminho de busca; make run o ' +
      'constrói.',
  },
  file: (path) => `Este é o arquivo ${path}, inteiro. Os testes o executam e conferem o que ele imprime.`,
  resultTitle: 'O que ele imprime',
  resultText: 'Calculado agora mesmo pelo motor desta página, não copiado.',
  weights: 'A: para onde cada token olha',
  output: 'O: o que cada token recebe',
};
