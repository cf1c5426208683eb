// A parte 3 em português: à mão.
import type { bank as english } from '../en/bank';

export const bank: typeof english = {
  title: 'À mão: sentei, banco, praça',
  lead:
    'De que banco se fala? “Banco” olha em volta: para “sentei”, para si mesmo e para “praça”. Dois números fazem uma ' +
    'consulta, dois fazem uma chave, e o que cada palavra entrega é [assento, dinheiro]. Mude qualquer número e ' +
    'acompanhe a conta.',
  asks: 'Quem pergunta',
  steps: {
    score: 'Escores',
    scoreText: 'A consulta vezes cada chave: multiplique número por número, e some.',
    scale: 'Dividir por √2',
    scaleText: 'São dois números em uma chave, daí √2. A parte 7 mostra o que acontece sem isso.',
    softmax: 'Softmax',
    softmaxText: 'e elevado a cada escore, dividido pela soma. Os pesos são positivos e somam 1.',
    mix: 'Misturar',
    mixText: 'Cada valor vezes o seu peso, e tudo somado.',
  },
  spoken: {
    score: 'o escore da chave j é o produto escalar de q e k j',
    scale: 's j é o produto escalar de q e k j, dividido pela raiz quadrada de dois',
    softmax: 'o peso a j é e elevado a s j, dividido pela soma de e elevado a s i sobre todas as chaves i',
    mix: 'a saída o é a soma, sobre todas as chaves j, de a j vezes v j',
  },
  answer: 'Resposta',
  query: 'as consultas',
  keys: 'as chaves',
  values: 'os valores: assento, dinheiro',
  experiments: 'Três experiências',
  river: 'A praça diz dinheiro',
  riverText: 'Nenhum peso se move: os pesos vêm só de consultas e chaves. A resposta se move.',
  ask: 'Consulta [1, 0]',
  askText: 'Agora “sentei” e “banco” combinam igualmente bem, e dividem o peso.',
  zero: 'Consulta zero',
  zeroText: 'Quem não pergunta nada vê tudo por igual: a média simples.',
};
