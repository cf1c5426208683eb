// Where the numbers of a part come from: what is saved from it says so.
import { createContext } from 'preact';
import type { Document } from '../model/document';
import type { Provenance } from '../model/export';
import { addressNow } from '../model/state';

/** What the engine's documents of every kind say of themselves. */
export type Source = Pick<Document, 'qkv'> &
  Partial<Pick<Document, 'problem' | 'options' | 'select'>> & { readonly file?: string };

export interface Origin {
  part: string;
  document: Source | null;
  /** Where the page is not the lesson's own, whose address holds its state. */
  address?: string;
}

/** One object for each part, whose fields change: what is drawn under it is not drawn again for their sake. */
export const OriginOf = createContext<Origin>({ part: '', document: null });

export function provenance({ part, document, address = addressNow() }: Origin): Provenance {
  return {
    engine: `qkv ${document?.qkv ?? ''}`.trim(),
    part,
    address,
    ...(document?.file ? { file: document.file } : {}),
    ...(document?.problem ? { problem: document.problem } : {}),
    ...(document?.options ? { options: document.options } : {}),
    ...(document?.select ? { select: document.select } : {}),
    made: new Date().toISOString(),
  };
}
