// A parte 5 em português: o exemplo que acompanha a lição.
import type { running as english } from '../en/running';

export const running: typeof english = {
  title: 'Uma camada inteira: the cat climbed the',
  lead:
    'Cinco tokens, quatro números em cada um: the, ␣cat, ␣climb, ed, ␣the (o gato subiu o …). O tokenizador cortou o ' +
    'verbo em dois. Para onde o último “the” deve olhar? Aqui as projeções só escolhem colunas, e assim você encontra ' +
    'em X a origem de cada número.',
  row: 'Quem pergunta',
  head: 'Cabeça',
  heads: { first: 'cabeça 1', second: 'cabeça 2', merged: 'as duas, juntas' },
  causal: 'Máscara causal',
  divide: 'Dividir por √d_k',
  causalText: (weight: string) =>
    `O primeiro “the” dá ${weight} da sua atenção a “␣climb”, uma palavra que vem depois. Um modelo que gera texto não ` +
    'pode ver o futuro: a máscara proíbe. A última linha já vê tudo, e não muda.',
  isCausalText:
    'Nenhuma linha vê uma palavra que vem depois: ao primeiro “the” só resta ele mesmo. A última linha já via tudo, e ' +
    'não mudou.',
  divideText: 'Sem a divisão o maior peso cresce e os outros somem. A parte 7 mostra por quê, e o que isso custa.',
  norm: 'LayerNorm',
  normText: 'Cada linha menos a sua média, dividida pelo seu desvio σ. As médias já são 0: só resta a divisão.',
  project: 'Três projeções',
  projectText: 'Cada coluna de W tem um único 1: ela escolhe uma coluna de U.',
  compare: 'Escores',
  compareText: 'Cada consulta contra cada chave. Uma cabeça tem dois números de largura, daí √2.',
  undividedText: 'Cada consulta contra cada chave, e nada se divide.',
  weigh: 'Pesos',
  weighText: 'Softmax, linha por linha. Cada linha soma 1.',
  mix: 'Saída',
  mixText: 'Os pesos misturam as linhas de V.',
  merge: 'Juntas',
  mergeText: 'As duas cabeças lado a lado: de novo quatro números por token.',
  spoken: {
    norm: 'u é x menos a sua média mu, dividido por sigma',
    project: 'Q é U vezes W Q, K é U vezes W K, V é U vezes W V',
    divided: 'S é Q vezes K transposta, dividido pela raiz quadrada de dois',
    undivided: 'S é Q vezes K transposta, sem divisão',
    weigh: 'A é o softmax de S, linha por linha',
    mix: 'O é A vezes V',
    merge: 'M é O um ao lado de O dois',
  },
  given: 'dado',
  mean: 'as médias',
  spread: 'os desvios',
  normed: 'linhas normalizadas',
  query: 'o que cada token procura',
  keys: 'o que cada token anuncia',
  values: 'o que cada token entrega',
  output: 'o que cada token recebe',
  looks: (token: string, list: string, sum: string) => `“${token}” olha mais para ${list}; os dois juntos levam ${sum}.`,
  and: ' e ',
  part: (key: string, weight: string) => `“${key}” com ${weight}`,
};
