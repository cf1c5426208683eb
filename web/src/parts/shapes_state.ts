// What the reader can change in part 6, and the table that follows it.
import { batch } from '@preact/signals';
import type { Codec } from '../model/codec';
import type { Language } from '../model/document';
import { property } from '../model/state';
import { decodeFound, encodeFound, parseSize, type FoundShapes, type Shape } from '../model/shape_text';
import { live } from '../source/live';

export const SIZES = ['n', 'C', 'heads', 'kv_heads', 'D', 'Dv', 'B', 'T'] as const;
export type SizeName = (typeof SIZES)[number];
export const PRESETS = ['toy', 'gpt2_small', 'grouped'] as const;
export type PresetName = (typeof PRESETS)[number];

/** A size that is given, or null: it follows from the others. */
const size: Codec<number | null> = { encode: (value) => (value === null ? '' : String(value)), decode: parseSize };
const shapes: Codec<FoundShapes> = { encode: encodeFound, decode: decodeFound };
const preset: Codec<PresetName> = {
  encode: (value) => value,
  decode: (text) => PRESETS.find((name) => name === text) ?? null,
};

/** What the sizes that are not given come from. */
export const start = property('shapes.preset', preset, 'toy');
export const given = Object.fromEntries(SIZES.map((name) => [name, property(`shapes.${name}`, size, null)])) as Record<
  SizeName,
  ReturnType<typeof property<number | null>>
>;
/** Shapes that the reader typed over those of the table. */
export const found = property('shapes.found', shapes, {});

export function usePreset(name: PresetName) {
  batch(() => {
    start.value = name;
    found.value = {};
    for (const one of SIZES) given[one].value = null;
  });
}

export function setFound(name: string, shape: Shape | null) {
  const rest = Object.fromEntries(Object.entries(found.peek()).filter(([line]) => line !== name));
  found.value = shape === null ? rest : { ...rest, [name]: shape };
}

type Both = Readonly<Record<Language, string>>;

export interface ShapeLine {
  readonly name: string;
  readonly symbol: string;
  readonly dims: readonly string[];
  readonly shape: Shape;
  readonly full_dims: readonly string[];
  readonly full_shape: Shape;
  readonly meaning: Both;
  readonly ok: boolean;
}

export interface ShapeTable {
  readonly qkv: string;
  readonly sizes: Readonly<Record<SizeName, number>>;
  readonly lines: readonly ShapeLine[];
  readonly broken: { readonly line: string; readonly expected: string; readonly found: string; readonly mistake: Both } | null;
}

const asked = live(() => {
  const sizes = SIZES.flatMap((name) => (given[name].value === null ? [] : [[name, given[name].value]]));
  return { op: 'shapes', preset: start.value, ...Object.fromEntries(sizes), found: found.value };
});

export const error = () => asked.value.error;
export const table = () => asked.value.document as unknown as ShapeTable | null;
