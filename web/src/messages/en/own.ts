// Part 9 in English: your own numbers.
export const own = {
  title: 'Your own',
  lead:
    'Bring the q, k and v of a model of yours, and look at any head and any row of it. The file is read in this page and ' +
    'computed on this machine. Nothing is uploaded.',
  drop: 'Drop a .safetensors, .npz or .json here',
  choose: 'Choose a file',
  needs:
    'It holds q, k, v: [T, D], [H, T, D] or [B, H, T, D], as F64, F32, F16 or BF16, and may hold keep, bias, key_mask, ' +
    'slopes, sinks and tokens. Up to 64 MiB, and up to a million weights in a head.',
  reading: 'Reading …',
  opened: (name: string) => `${name}, opened by qkv explore`,
  shape: (name: string, heads: string, queries: string, keys: string) =>
    `${name}: ${heads} ${heads === '1' ? 'head' : 'heads'}, ${queries} ${queries === '1' ? 'query' : 'queries'}, ${keys} ${keys === '1' ? 'key' : 'keys'}`,
  close: 'Close it',
  batch: 'Batch entry',
  head: 'Head',
  row: 'Row',
  causal: 'causal mask',
  optionsTitle: 'Options',
  options: { scale: 'scale', softcap: 'softcap', left: 'window back', right: 'window ahead' },
  badOption: {
    scale: 'A number, please.',
    softcap: 'A number above 0, please.',
    left: 'A whole number from 0, or ∞.',
    right: 'A whole number from 0, or ∞.',
  },
  optionsHint: 'An empty field stands for what the file says, or the usual: scale 1/√d_k, no softcap, no window (∞).',
  none: 'none',
  corner: 'The mask starts from',
  corners: { top_left: 'the first key', bottom_right: 'the last key' },
  top: 'Strongest colour',
  tops: { one: '1', largest: 'the largest weight' },
  computing: 'Computing …',
  stop: 'Stop',
  stopped: 'Stopped. What you see is from before.',
  again: 'Compute it after all',
  weights: 'weights',
  cell: (query: string, key: string, weight: string) => `query ${query} → key ${key}: ${weight}`,
  hint: 'A click or Enter on the map chooses its row.',
  reads: (query: string) => `What query ${query} reads`,
  key: 'key',
  weight: 'weight',
  sum: 'running sum',
  chain: 'The chain of this row',
  stages: { q: 'the query', raw: 'q·k', scaled: 'scaled', capped: 'after the softcap', biased: 'with bias and slopes', masked: 'what enters the softmax', p: 'weights', o: 'output' },
  readKeys: 'Keys and values that it reads most',
  keyRows: 'keys',
  valueRows: 'values',
  first: (shown: string, all: string) => `the first ${shown} of ${all}`,
  problems: {
    tooLarge: ([most]: readonly string[]) => `The file is too large: up to ${most} MiB are read. Save fewer heads or a shorter piece.`,
    unknownKind: ([name]: readonly string[]) => `“${name}” is no .safetensors, .npz or .json. Save q, k and v as one of these.`,
    notZip: () => 'This .npz is no zip archive, or it was cut off. Save it again with numpy.savez.',
    notNpy: ([name]: readonly string[]) => `The array ${name} has no valid .npy header. Save it again with numpy.savez.`,
    npyVersion: ([name, version]: readonly string[]) => `The array ${name} is .npy version ${version}; 1 to 3 are read.`,
    fortran: ([name]: readonly string[]) => `${name} lies in Fortran order; expected C order. Save numpy.ascontiguousarray(${name}).`,
    type: ([name, type]: readonly string[]) =>
      `${name} has the type ${type}; expected F64, F32, F16 or BF16, little-endian (BOOL and U8 for masks). Convert it.`,
    cut: ([name, expected, found]: readonly string[]) =>
      `${name} should fill ${expected} bytes by its shape and type; there are ${found}. The file may be cut off.`,
    notSafetensors: () => 'The header of this .safetensors cannot be read. The file may be cut off; save it again.',
    offsets: ([name]: readonly string[]) => `${name} points outside the file. It may be cut off; save it again.`,
    notJson: () => 'This is no JSON object. Expected {"q": [[…]], "k": [[…]], "v": [[…]]}.',
    ragged: ([name]: readonly string[]) => `${name} is no regular array of numbers: rows differ in length, or an entry is no number.`,
    missing: ([name]: readonly string[]) => `There is no ${name} in the file. Name the three tensors q, k and v.`,
    rank: ([name, shape]: readonly string[]) =>
      `${name} is ${shape}; expected [T, D], [H, T, D] or [B, H, T, D] without an empty axis, and masks that fit the weights.`,
    fit: ([q, k, v]: readonly string[]) =>
      `q ${q}, k ${k} and v ${v} do not fit: q and k share their last axis, k and v their rows and heads, all three their batch.`,
    heads: ([queries, keys]: readonly string[]) => `${queries} query heads cannot share ${keys} key heads evenly.`,
    pairs: ([queries, keys, most]: readonly string[]) =>
      `One head would have ${queries} × ${keys} weights; up to ${most} are shown here. Cut the sequence.`,
  },
};
