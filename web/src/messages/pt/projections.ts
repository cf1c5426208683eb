// A parte 2 em português: consulta, chave, valor.
import type { projections as english } from '../en/projections';

export const projections: typeof english = {
  title: 'Consulta, chave, valor',
  lead:
    'Um dicionário precisa de uma pergunta, de chaves e de valores. Em um transformer, cada token tira os três de si ' +
    'mesmo: o que ele procura, o que anuncia e o que entrega a quem olha para ele.',

  query: 'consulta',
  queryText: 'o que um token procura',
  keyWord: 'chave',
  keyText: 'o que ele anuncia',
  value: 'valor',
  valueText: 'o que ele entrega',
  threeText:
    'Três projeções de uma só entrada. As três matrizes W são tudo o que a camada aprende; depois delas só há contas, ' +
    'sem nenhum parâmetro.',

  sentence: ['O', 'animal', 'não', 'atravessou', 'a', 'rua', 'porque', 'ele', 'estava', 'cansado', '.'],
  speakers: {
    noun: {
      word: 1,
      asks: 'o que se diz de mim?',
      advertises: '“sou um substantivo: um só, vivo”',
      delivers: 'um animal, com tudo o que ele traz',
    },
    pronoun: {
      word: 7,
      asks: 'um substantivo que eu possa representar',
      advertises: '“sou um pronome”',
      delivers: 'o que já foi reunido aqui',
    },
    adjective: {
      word: 9,
      asks: 'quem está neste estado?',
      advertises: '“sou o estado de alguém vivo”',
      delivers: 'cansaço',
    },
  },
  pronounTitle: 'Por que três e não um',
  pronounText:
    'Um pronome precisa achar o seu substantivo, mas não é um substantivo. Com um só vetor para tudo, “ele” só poderia ' +
    'procurar tokens parecidos consigo. Com três, pede uma coisa, anuncia outra e entrega uma terceira.',
  pronounHint: 'Escolha uma palavra:',
  inWords: 'Em palavras, do nosso jeito. Uma camada treinada diz isso em números, e nem sempre com tanta clareza.',

  chainTitle: 'De X a O, uma matriz por vez',
  chainText:
    'Os números são os da próxima parte, onde você pode mudá-los. X e as três W aparecem aqui só com a forma: servem ' +
    'quaisquer que deem estas Q, K e V.',
  pick: 'Qual token pergunta?',
  pickHint:
    'A linha dele acende em Q, em S, em A e em O. K e V acendem inteiras: para responder a uma consulta, todas as ' +
    'chaves e todos os valores são lidos.',
  step: 'Passo',
  steps: {
    x: 'A entrada: uma linha para cada token, com C números.',
    qkv: 'Cada linha é projetada três vezes. Uma linha de Q, K ou V ainda é de um só token.',
    s: 'A consulta é comparada com cada chave: um produto escalar para cada uma, dividido por √2. É aqui que os tokens se encontram.',
    a: 'O softmax transforma cada linha de escores em pesos que somam 1: como o token divide a sua atenção.',
    o: 'Os pesos misturam as linhas de V. O que sai tem a largura de V, com uma linha para cada consulta.',
  },
  spoken: {
    s: 'Q vezes K transposta, dividido pela raiz quadrada de dois',
    a: 'softmax de S',
    o: 'A vezes V',
  },
  reads: (token, list) => `${token} lê ${list}.`,
  readsPart: (weight, token) => `${weight} de ${token}`,
};
