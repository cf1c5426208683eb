// A parte 9 em português: os seus números.
import type { own as english } from '../en/own';

export const own: typeof english = {
  title: 'Os seus números',
  lead:
    'Traga q, k e v de um modelo seu e olhe qualquer cabeça e qualquer linha. O arquivo é lido nesta página e calculado ' +
    'nesta máquina. Nada é enviado.',
  drop: 'Solte aqui um .safetensors, .npz ou .json',
  choose: 'Escolher um arquivo',
  needs:
    'Ele contém q, k, v: [T, D], [H, T, D] ou [B, H, T, D], em F64, F32, F16 ou BF16, e pode conter keep, bias, key_mask, ' +
    'slopes, sinks e tokens. Até 64 MiB, e até um milhão de pesos por cabeça.',
  reading: 'Lendo …',
  opened: (name) => `${name}, aberto por qkv explore`,
  shape: (name, heads, queries, keys) =>
    `${name}: ${heads} ${heads === '1' ? 'cabeça' : 'cabeças'}, ${queries} ${queries === '1' ? 'consulta' : 'consultas'}, ${keys} ${keys === '1' ? 'chave' : 'chaves'}`,
  close: 'Fechar',
  batch: 'Entrada do lote',
  head: 'Cabeça',
  row: 'Linha',
  causal: 'máscara causal',
  optionsTitle: 'Opções',
  options: { scale: 'escala', softcap: 'softcap', left: 'janela para trás', right: 'janela para a frente' },
  badOption: {
    scale: 'Um número, por favor.',
    softcap: 'Um número maior que 0, por favor.',
    left: 'Um número inteiro a partir de 0, ou ∞.',
    right: 'Um número inteiro a partir de 0, ou ∞.',
  },
  optionsHint: 'Um campo vazio vale o que o arquivo diz, ou o usual: escala 1/√d_k, sem softcap, sem janela (∞).',
  none: 'sem',
  corner: 'A máscara parte da',
  corners: { top_left: 'primeira chave', bottom_right: 'última chave' },
  top: 'Cor mais forte',
  tops: { one: '1', largest: 'o maior peso' },
  computing: 'Calculando …',
  stop: 'Parar',
  stopped: 'Parado. O que você vê é de antes.',
  again: 'Calcular mesmo assim',
  weights: 'pesos',
  cell: (query, key, weight) => `consulta ${query} → chave ${key}: ${weight}`,
  hint: 'Um clique ou Enter no mapa escolhe a linha.',
  reads: (query) => `O que a consulta ${query} lê`,
  key: 'chave',
  weight: 'peso',
  sum: 'soma até aqui',
  chain: 'A cadeia desta linha',
  stages: { q: 'a consulta', raw: 'q·k', scaled: 'escalado', capped: 'depois do softcap', biased: 'com bias e slopes', masked: 'o que entra no softmax', p: 'pesos', o: 'saída' },
  readKeys: 'Chaves e valores que ela mais lê',
  keyRows: 'chaves',
  valueRows: 'valores',
  first: (shown, all) => `os primeiros ${shown} de ${all}`,
  problems: {
    tooLarge: ([most]) => `O arquivo é grande demais: são lidos até ${most} MiB. Salve menos cabeças ou um trecho menor.`,
    unknownKind: ([name]) => `“${name}” não é .safetensors, .npz nem .json. Salve q, k e v em um desses formatos.`,
    notZip: () => 'Este .npz não é um arquivo zip, ou foi cortado. Salve de novo com numpy.savez.',
    notNpy: ([name]) => `O array ${name} não tem um cabeçalho .npy válido. Salve de novo com numpy.savez.`,
    npyVersion: ([name, version]) => `O array ${name} é .npy versão ${version}; são lidas as de 1 a 3.`,
    fortran: ([name]) => `${name} está em ordem Fortran; era esperada a ordem C. Salve numpy.ascontiguousarray(${name}).`,
    type: ([name, type]) =>
      `${name} tem o tipo ${type}; era esperado F64, F32, F16 ou BF16, little-endian (BOOL e U8 para máscaras). Converta.`,
    cut: ([name, expected, found]) =>
      `${name} deveria ocupar ${expected} bytes pela forma e pelo tipo; há ${found}. O arquivo pode ter sido cortado.`,
    notSafetensors: () => 'Não dá para ler o cabeçalho deste .safetensors. O arquivo pode ter sido cortado; salve de novo.',
    offsets: ([name]) => `${name} aponta para fora do arquivo. Ele pode ter sido cortado; salve de novo.`,
    notJson: () => 'Isto não é um objeto JSON. Era esperado {"q": [[…]], "k": [[…]], "v": [[…]]}.',
    ragged: ([name]) => `${name} não é um array regular de números: as linhas têm tamanhos diferentes, ou há uma entrada que não é número.`,
    missing: ([name]) => `Não há ${name} no arquivo. Dê aos três tensores os nomes q, k e v.`,
    rank: ([name, shape]) =>
      `${name} é ${shape}; era esperado [T, D], [H, T, D] ou [B, H, T, D] sem eixo vazio, e máscaras que caibam nos pesos.`,
    fit: ([q, k, v]) =>
      `q ${q}, k ${k} e v ${v} não se encaixam: q e k têm o mesmo último eixo, k e v as mesmas linhas e cabeças, os três o mesmo lote.`,
    heads: ([queries, keys]) => `${queries} cabeças de consulta não conseguem dividir ${keys} cabeças de chave por igual.`,
    pairs: ([queries, keys, most]) =>
      `Uma cabeça teria ${queries} × ${keys} pesos; aqui são mostrados até ${most}. Corte a sequência.`,
  },
};
