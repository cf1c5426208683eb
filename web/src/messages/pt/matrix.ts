// A parte 7 em português: a matriz inteira.
import type { matrix as english } from '../en/matrix';

export const matrix: typeof english = {
  title: 'A matriz inteira',
  lead:
    'Cada token pergunta, cada token responde: n × n pesos. Leia por linha. A linha i diz para onde o token i olha, e toda ' +
    'linha soma 1. Aqui os escores são sorteados, para você ver o que o tamanho de d_k faz com eles.',
  function: 'Para o que os escores olham',
  functions: { content: 'conteúdo', previous: 'o token anterior', decay: 'distância', mix: 'uma mistura' },
  mix: ['conteúdo', 'o token anterior', 'distância'],
  tokens: 'Tokens',
  width: 'd_k, a largura de q e k',
  divide: 'dividir por √d_k',
  draw: 'Sortear de novo',
  map: 'pesos',
  cell: (query, key, weight) => `“${query}” olha para “${key}” com ${weight}`,
  hint: 'Aponte para o mapa, ou chegue a ele com Tab e use as setas. Um clique ou Enter fixa a linha.',
  largest: 'Maior peso',
  entropy: 'Entropia',
  gradient: 'Gradiente que passa',
  largestText: 'de cada linha; 1 quer dizer que uma chave leva tudo',
  entropyText: 'quantas chaves dividem a linha, em logaritmo',
  gradientText: 'Σ a(1 − a): quanto uma mudança nos escores consegue mover os pesos',
  ofRows: (mean) => `média das linhas ${mean}`,
  histogram: 'Os escores antes de qualquer divisão',
  measured: (noise, root) => `Desvio padrão do ruído, medido: ${noise}. √d_k = ${root}.`,
  measuredAll: (all, root) => `Dispersão de todos os escores: ${all}. √d_k = ${root}.`,
  scaled: (value) => `O que entra no softmax tem dispersão ${value}.`,
  score: 'escore',
  count: 'quantos pares',
  why: 'Por que √d_k',
  argument: [
    'Um escore é uma soma de d_k produtos. Se cada um tem variância 1 e eles são independentes, as variâncias se somam: a soma tem variância d_k.',
    'Logo, o desvio padrão é √d_k. Divida por ele, e o softmax recebe números de tamanho 1 em qualquer largura.',
  ],
  argumentSpoken: 'a variância da soma de d k produtos é d k, logo o desvio padrão é a raiz quadrada de d k',
  saturated:
    'Com d_k = 128, os escores sem divisão têm desvio 11,3, e dois deles facilmente diferem por 20. e⁻²⁰ é 2·10⁻⁹: a matriz ' +
    'vira tudo ou nada, e nenhum gradiente volta por ela.',
  drawn:
    'Como são sorteados: as componentes de cada chave têm variância 1. A consulta leva uma parte ρ = min(1, 3/√d_k) da ' +
    'chave que procura e ruído novo no resto, de modo que o alvo fica 3 desvios padrão acima em qualquer largura.',
};
