// The pieces that saved pictures are made of: SVG as text, in light colours, with nothing that a page has to explain.
import type { Provenance } from './export';

export const INK = '#1f1c19';
export const QUIET = '#6a635b';
export const HAIRLINE = '#ddd6cb';
const FONT = "'Inter', 'Helvetica Neue', Arial, sans-serif";

export const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

export function textAt(x: number, y: number, anchor: 'start' | 'middle' | 'end', fill: string, what: string): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${fill}">${escaped(what)}</text>`;
}

/** How masked entries are filled. */
export const HATCHING =
  `<pattern id="masked" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
  `<rect width="2" height="6" fill="${HAIRLINE}"/></pattern>`;

/** A whole file: a title for who does not see it, where it came from, a white ground, and the parts. */
export function svgFile(width: number, height: number, title: string, from: Provenance, parts: readonly string[]): string {
  const [w, h] = [Math.ceil(width), Math.ceil(height)];
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}" font-family="${FONT}" font-size="13">` +
    `<title>${escaped(title)}</title><metadata>${escaped(JSON.stringify(from))}</metadata>` +
    `<rect width="100%" height="100%" fill="#fff"/>${parts.join('')}</svg>\n`
  );
}
