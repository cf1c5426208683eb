// A module whose memory may not grow: for tests of what happens when there is no more.

/** Reads an unsigned LEB128 number: [value, place after it]. */
function unsigned(bytes: Uint8Array, place: number): [number, number] {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[place++] ?? 0;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return [value, place];
  }
}

function written(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...written(value >>> 7)];
}

/** The same module with a memory of at most `spare` pages (64 KiB) beyond those that it starts with. */
export function withSpareMemory(module: Uint8Array, spare: number): Uint8Array<ArrayBuffer> {
  const MEMORY = 5; // the section's number
  for (let place = 8; place < module.length; ) {
    const start = place;
    const section = module[place];
    const [size, body] = unsigned(module, place + 1);
    place = body + size;
    if (section !== MEMORY) continue;
    const [pages] = unsigned(module, body + 2); // after the count, 1, and the flags, 0: no maximum
    const limits = [1, 1, ...written(pages), ...written(pages + spare)];
    return Uint8Array.from([...module.slice(0, start), MEMORY, ...written(limits.length), ...limits, ...module.slice(place)]);
  }
  throw new Error('the module has no memory');
}
