// What a call that is refused throws.

// By StatusCode of qkv/status.h.
const CODES = [
  'ok',
  'invalid_argument',
  'shape_mismatch',
  'unsupported',
  'corrupt_file',
  'io',
  'out_of_memory',
  'cancelled',
] as const;

/** Why a call was refused: a status of the library, or `stopped` where it broke off; the next call is answered then, too. */
export type ErrorCode = Exclude<(typeof CODES)[number], 'ok'> | 'stopped';

/** A call was refused; the message says what was expected and what was found. */
export class QkvError extends Error {
  override readonly name = 'QkvError';
  constructor(
    readonly code: ErrorCode,
    message: string,
  ) {
    super(message);
  }
}

export function codeOf(status: number): ErrorCode | 'ok' {
  return CODES[status] ?? 'unsupported';
}
