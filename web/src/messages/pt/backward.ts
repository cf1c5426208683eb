// A parte 8 em português: a volta.
import type { backward as english } from '../en/backward';

export const backward: typeof english = {
  title: 'A volta',
  lead:
    'O treino pergunta como a perda L muda quando um número muda. Aqui L = Σ dO ⊙ O, então dO é o gradiente que chega à ' +
    'saída. Cinco produtos o levam de volta. Mude qualquer número e confira cada gradiente com uma diferença.',
  given: 'O que é dado',
  inputs: { q: 'consultas', k: 'chaves', v: 'valores', d_output: 'gradiente da saída' },
  weights: 'pesos, da ida',
  steps: {
    dv: { name: 'Valores', spoken: 'd V é A transposta vezes d O', why: 'Um valor foi usado com peso a, então essa parte do gradiente volta para ele.' },
    dp: { name: 'Pesos', spoken: 'd A é d O vezes V transposta', why: 'Um peso importa tanto quanto o valor que ele deixa entrar aponta na direção de dO.' },
    ds: { name: 'Escores', spoken: 'd S é A vezes, entrada por entrada, d A menos a soma da linha de d A vezes A', why: 'O softmax: o que conta é quanto uma chave é melhor que a média da própria linha.' },
    dq: { name: 'Consultas', spoken: 'd Q é d S vezes K, dividido pela raiz quadrada de d k', why: 'Uma consulta vai em direção às chaves cujos escores deveriam crescer.' },
    dk: { name: 'Chaves', spoken: 'd K é d S transposta vezes Q, dividido pela raiz quadrada de d k', why: 'Uma chave vai em direção às consultas que deveriam encontrá-la.' },
  },
  rowSums: (largest) => `Toda linha de dS soma 0 (a maior aqui: ${largest})`,
  rowSumsText: 'Os pesos de uma linha sempre somam 1: para um subir, os outros pagam.',
  differences: 'Ao lado das diferenças centrais',
  differencesText:
    'Mova um número para cima e para baixo por h e veja o que aconteceu com a perda. A diferença não sabe nada das fórmulas acima.',
  quotient: 'L de x mais h, menos L de x menos h, dividido por dois h',
  step: 'passo h',
  stepValue: (value) => `h = ${value}`,
  error: (gradient, value) => `${gradient}: maior diferença ${value}`,
  curve: 'O erro contra o passo',
  curveText:
    'Da direita, o erro cai com h², como diz a teoria. Depois as duas perdas diferem por menos do que o float64 consegue ' +
    'distinguir, o arredondamento é dividido por h, e o erro volta a subir. Entre os dois está o melhor passo.',
  curveX: 'h',
  curveY: 'maior diferença',
  curveV: 'L é linear em V, então a diferença dele não tem erro de h² em passo nenhum: só resta o arredondamento.',
  sharpen: 'Afiar os escores',
  sharpenTitle: 'Por que uma linha saturada não devolve nada',
  sharpenValue: (value) => `${value} × mais afiados`,
  sharpenText:
    'Multiplique todos os escores. Os pesos vão a 0 e 1, e dS some. Onde a é minúsculo, o fator a anula o colchete. Onde a ' +
    'está perto de 1, a média da linha é o próprio dA dessa chave, e o colchete é zero. De um jeito ou de outro, nada volta.',
  fading: (weight, gradient) => `Maior peso ${weight}; maior entrada de dS ${gradient}.`,
  code: 'O mesmo em código',
};
