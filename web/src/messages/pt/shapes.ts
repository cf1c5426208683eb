// A parte 6 em português: a forma de cada matriz.
import type { shapes as english } from '../en/shapes';

export const shapes: typeof english = {
  title: 'A forma de cada matriz',
  lead:
    'A maioria dos erros em atenção é de forma. Saiba o que cada linha e cada coluna representa, e você os encontra ' +
    'antes que os números saiam errados.',

  presets: 'Comece de',
  preset: { toy: 'o exemplo da parte 5', gpt2_small: 'GPT-2 small', grouped: 'cabeças agrupadas' },
  presetText: {
    toy: '5 tokens, C = 4, 2 cabeças de 2',
    gpt2_small: 'C = 768, 12 cabeças de 64',
    grouped: '32 cabeças de consulta compartilham 8 cabeças de chave de 128',
  },
  sizes: 'Tamanhos',
  size: {
    n: 'tokens que perguntam',
    C: 'largura do modelo',
    heads: 'cabeças de consulta',
    kv_heads: 'cabeças de chave e valor',
    D: 'largura da consulta e da chave',
    Dv: 'largura do valor',
    B: 'sequências por vez',
    T: 'tokens que são lidos',
  },
  badSize: (name) => `${name}: um número inteiro de 1 a 1 000 000 000. O último válido continua em uso.`,

  table: 'Formas',
  rule: 'Tamanhos que se encontram têm de ser iguais, e somem. Os de fora ficam:',
  ruleSpoken: 'Q, n por D, vezes K transposta, D por T, dá S, n por T; A, n por T, vezes V, T por D v, dá O, n por D v',
  matrix: 'Matriz',
  letters: 'Em letras',
  shape: 'De uma cabeça',
  full: 'Na memória, todas as cabeças',
  meaning: 'O que ela guarda',
  draw: 'Em escala logarítmica',
  editHint:
    'Troque qualquer forma “de uma cabeça” pela que o seu programa imprime. Valem as duas: de uma cabeça ou como está ' +
    'na memória.',
  editShape: (matrix) => `Forma de ${matrix}`,
  badShape: (text) => `“${text}” não é uma forma. Escreva números inteiros, como 5, 2.`,

  fits: 'Todas as formas se encaixam.',
  breaks: (matrix) => `${matrix} não se encaixa`,
  expected: 'esperado',
  found: 'encontrado',
  mistake: 'O erro de sempre',
  only: 'Olhe a primeira linha que quebra: as de baixo dependem dela.',
  repairAll: 'Consertar tudo',

  breakTitle: 'Ou quebre uma de propósito',
  breaking: {
    split: 'esquecer de separar as cabeças',
    transpose: 'transpor K',
    pad: 'preencher V, mas não K',
    merge: 'tirar a média das cabeças',
    repeat: 'dar a W_K a largura de W_Q',
  },
};
