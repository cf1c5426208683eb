// A text inside a PNG (the iTXt chunk of ISO/IEC 15948), so that a picture too says where it came from.

const CHECKSUMS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte;
  for (let bit = 0; bit < 8; ++bit) sum = sum & 1 ? 0xedb88320 ^ (sum >>> 1) : sum >>> 1;
  return sum;
});

/** The CRC-32 of a chunk's type and data. */
export function checksum(bytes: Uint8Array): number {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = (CHECKSUMS[(sum ^ byte) & 0xff] ?? 0) ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}

const HEADER_END = 33; // the signature, and IHDR with its length, type and checksum

/** The PNG with `text` under `keyword`, placed before its pixels. */
export function withText(png: Uint8Array, keyword: string, text: string): Uint8Array<ArrayBuffer> {
  // Keyword, then: end, not compressed, method, no language, no translated keyword.
  const content = new TextEncoder().encode(`iTXt${keyword}\0\0\0\0\0${text}`);
  const chunk = new Uint8Array(content.length + 8);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, content.length - 4);
  chunk.set(content, 4);
  view.setUint32(chunk.length - 4, checksum(content));
  const whole = new Uint8Array(png.length + chunk.length);
  whole.set(png.subarray(0, HEADER_END));
  whole.set(chunk, HEADER_END);
  whole.set(png.subarray(HEADER_END), HEADER_END + chunk.length);
  return whole;
}
