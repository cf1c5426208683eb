// A parte 1 em português: um dicionário suave.
import type { dictionary as english } from '../en/dictionary';

export const dictionary: typeof english = {
  title: 'Um dicionário suave',
  lead:
    'Atenção é um dicionário que responde com suavidade. Faça a mesma pergunta aos dois: um exige a chave exata; o ' +
    'outro compara a sua pergunta com todas as chaves e responde com uma mistura de todos os valores.',

  stock: 'estoque',
  words: { apple: 'maçã', pear: 'pera', plum: 'ameixa' },

  ask: 'Pergunte por',
  askHint: 'Ameixa não está no estoque: tem uma direção, mas não há chave ali.',
  turn: 'Gire a pergunta',
  turnHint: 'Arraste a seta azul, use o controle deslizante ou as setas do teclado em qualquer um dos dois.',
  turnValue: (degrees) => `${degrees} graus`,
  turnAtKey: (degrees, key) => `${degrees} graus, exatamente em ${key}`,
  turnAtPlum: (degrees) => `${degrees} graus, em ameixa, onde não há chave`,
  length: 'Comprimento da pergunta',
  lengthHint:
    'Uma seta mais comprida aumenta todos os escores e torna a escolha mais nítida. Em 12 isto é quase o dicionário ' +
    'rígido; em 0 nada é perguntado, e todos os valores contam igual.',

  hardTitle: 'Um dicionário',
  hardText: 'A chave tem de ser exatamente aquela. Volta um único valor.',
  hardFound: (key, value) => `${key} é uma chave. O valor dela é ${value}.`,
  hardMissing: 'KeyError: nenhuma chave aponta exatamente para cá.',
  hardMissingPlum: "KeyError: 'ameixa'",
  hardNear: 'Um grau ao lado e não há resposta; nada indica para que lado girar.',

  softTitle: 'Um dicionário suave',
  softText: 'Todas as chaves são comparadas. Volta a média ponderada de todos os valores.',
  dialLabel: 'Direção da pergunta entre as chaves',
  key: 'chave',
  score: 'escore q·k',
  weight: 'peso',
  value: 'valor',
  answer: 'resposta',
  said: (parts, answer) => `${parts}; a resposta é ${answer}`,
  saidPart: (key, weight) => `peso em ${key} ${weight}`,

  curveTitle: 'A resposta, dando a volta toda',
  curveText:
    'O dicionário rígido responde em dois pontos e falha em todos os outros. A resposta suave é uma curva lisa: em ' +
    'cada ponto ela tem uma inclinação, um gradiente, que diz para que lado girar para ter mais ou menos. É por isso ' +
    'que dá para aprender o que perguntar.',
  curveX: 'direção da pergunta, em graus',
  curveY: 'resposta',
  curveSoft: 'suave',
  curveHard: 'rígido',

  dotTitle: 'Como se comparam duas setas',
  dotText:
    'O produto escalar multiplica as setas número a número e soma. É grande quando elas apontam para o mesmo lado, ' +
    'perto de zero quando nada têm a ver uma com a outra, e negativo quando são opostas.',
  dotProduct: 'produto escalar',
  dotSame: 'mesmo lado',
  dotUnrelated: 'sem relação',
  dotOpposed: 'opostas',
  dotPicture: (name, value) => `Duas setas, ${name}: o produto escalar é ${value}`,
};
