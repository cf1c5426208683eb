// Part 8 in English: the backward pass.
export const backward = {
  title: 'The backward pass',
  lead:
    'Training asks how the loss L changes when a number changes. Here L = Σ dO ⊙ O, so dO is the gradient that arrives at ' +
    'the output. Five products carry it back. Change any number, and check each gradient against a difference.',
  given: 'What is given',
  inputs: { q: 'queries', k: 'keys', v: 'values', d_output: 'gradient of the output' },
  weights: 'weights, from the forward pass',
  steps: {
    dv: { name: 'Values', spoken: 'd V is A transposed times d O', why: 'A value was used with weight a, so that share of the gradient comes back to it.' },
    dp: { name: 'Weights', spoken: 'd A is d O times V transposed', why: 'A weight matters as much as the value that it lets in points along dO.' },
    ds: { name: 'Scores', spoken: 'd S is A times, entry by entry, d A minus the row sum of d A times A', why: 'The softmax: what counts is how much better a key is than the row’s own mean.' },
    dq: { name: 'Queries', spoken: 'd Q is d S times K, divided by the square root of d k', why: 'A query moves toward the keys whose scores should grow.' },
    dk: { name: 'Keys', spoken: 'd K is d S transposed times Q, divided by the square root of d k', why: 'A key moves toward the queries that should find it.' },
  },
  rowSums: (largest: string) => `Every row of dS sums to 0 (largest here ${largest})`,
  rowSumsText: 'Weights of a row always sum to 1: to raise one, the others must pay.',
  differences: 'Beside central differences',
  differencesText:
    'Move one number up and down by h, and ask what the loss did. The difference knows nothing of the formulas above.',
  quotient: 'L of x plus h, minus L of x minus h, divided by two h',
  step: 'step h',
  stepValue: (value: string) => `h = ${value}`,
  error: (gradient: string, value: string) => `${gradient}: largest difference ${value}`,
  curve: 'The error against the step',
  curveText:
    'From the right, the error falls with h², as the theory says. Then the two losses differ by less than float64 can ' +
    'tell, rounding is divided by h, and the error rises again. Between them lies the best step.',
  curveX: 'h',
  curveY: 'largest difference',
  curveV: 'L is linear in V, so its difference has no error of h² at any step: only rounding is left.',
  sharpen: 'Sharpen the scores',
  sharpenTitle: 'Why a saturated row returns nothing',
  sharpenValue: (value: string) => `${value} × as sharp`,
  sharpenText:
    'Multiply all scores. The weights go to 0 and 1, and dS fades. Where a is tiny, the factor a kills the bracket. Where ' +
    'a is near 1, the row’s mean is that key’s own dA, so the bracket is zero. Either way, nothing comes back.',
  fading: (weight: string, gradient: string) => `Largest weight ${weight}; largest entry of dS ${gradient}.`,
  code: 'The same in code',
};
