// Part 4 in English: the same in code.
export const code = {
  title: 'The same in code',
  lead:
    'What you did by hand is three lines. All three tokens ask at once, so Q is a matrix, and one product compares ' +
    'every query with every key.',
  languages: { numpy: 'NumPy', cpp: 'C++', shell: 'Shell' },
  tabs: 'Language of the code',
  notes: {
    numpy:
      'Scores, weights, answer. logaddexp is the logarithm of the sum of exponentials, taken so that no exponential ' +
      'overflows: exp(S − log Σ exp S) is the softmax.',
    cpp:
      'The library never writes A down, which is how it reads long texts in little memory. Asked for the identity as V, ' +
      'it hands back A I = A.',
    shell: 'Every step on a page, and one number changed. Needs the qkv tool in the path; make run builds it.',
  },
  file: (path: string) => `This is the file ${path}, whole. The tests run it and compare what it prints.`,
  resultTitle: 'What it prints',
  resultText: 'Computed just now by the engine behind this page, not copied.',
  weights: 'A: where each token looks',
  output: 'O: what each token gets',
};
