// Shapes as people write them, "5, 2" or "[5,2]", and several of them in an address.

export type Shape = readonly number[];
export type FoundShapes = Readonly<Record<string, Shape>>;

const LARGEST = 1_000_000_000; // what the engine takes

/** The whole number from 1 to 10⁹ that a text is, or null. Spaces between digits are taken: "1 024". */
export function parseSize(text: string): number | null {
  const digits = text.replace(/[\s_  ]/g, '');
  if (!/^\d{1,10}$/.test(digits)) return null;
  const size = Number(digits);
  return size >= 1 && size <= LARGEST ? size : null;
}

/** The shape that a text is, or null: "5, 2", "[5,2]", "(5, 2)", "5×2", "5 2", torch.Size([5, 2]). */
export function parseShape(text: string): Shape | null {
  const inside = text.trim().replace(/^torch\.Size\((.*)\)$/i, '$1').replace(/^[[(](.*?),?[\])]$/, '$1');
  const parts = inside.trim().split(/\s*[,×x·]\s*|\s+/);
  const sizes = parts.map(parseSize);
  return sizes.length <= 4 && sizes.every((size) => size !== null) ? (sizes as number[]) : null;
}

export function formatShape(shape: Shape): string {
  return `[${shape.join(', ')}]`;
}

export function isSameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((size, axis) => size === b[axis]);
}

/** "k:2.5~v:6.2", short enough for an address and free of characters that would be escaped there. */
export function encodeFound(found: FoundShapes): string {
  return Object.entries(found)
    .map(([name, shape]) => `${name}:${shape.join('.')}`)
    .join('~');
}

/** What `encodeFound` wrote; entries that are no shape are left out. */
export function decodeFound(text: string): FoundShapes {
  const found: Record<string, Shape> = {};
  for (const entry of text.split('~')) {
    const [name, sizes] = entry.split(':');
    const shape = sizes === undefined ? null : parseShape(sizes.split('.').join(','));
    if (name && /^[a-z]+$/.test(name) && shape) found[name] = shape;
  }
  return found;
}
