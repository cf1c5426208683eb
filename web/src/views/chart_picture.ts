// A chart on the screen as a picture to save: drawn once more in light colours, with every rule of the page's style
// written into it, so that it stands alone.
import type { Provenance } from '../model/export';
import { INK, svgFile, textAt } from '../model/svg_text';

const SHAPES = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linecap', 'opacity'];
const LETTERS = ['fill', 'font-size', 'font-weight', 'font-style', 'text-anchor', 'dominant-baseline', 'opacity'];
const USUAL: Readonly<Record<string, string>> = {
  stroke: 'none', 'stroke-width': '1px', 'stroke-dasharray': 'none', 'stroke-linecap': 'butt', opacity: '1',
  'font-weight': '400', 'font-style': 'normal', 'text-anchor': 'start', 'dominant-baseline': 'auto',
};

/** What the page's style says of an element. Groups keep their place only: shapes and texts get all of their own. */
function styleOf(element: SVGElement): readonly (readonly [string, string])[] {
  const style = getComputedStyle(element);
  const names = element instanceof SVGTextContentElement ? LETTERS : element instanceof SVGGElement ? ['opacity'] : SHAPES;
  return names.map((name) => [name, style.getPropertyValue(name)] as const).filter(([name, value]) => value !== '' && value !== USUAL[name]);
}

/** Replaces classes by what they say. */
function spell(picture: SVGSVGElement) {
  const all = [...picture.querySelectorAll<SVGElement>('*')].map((element) => ({ element, style: styleOf(element) }));
  for (const { element, style } of all) {
    for (const { name } of [...element.attributes]) if (/^(class|style|aria-|data-|tabindex)/.test(name)) element.removeAttribute(name);
    for (const [name, value] of style) element.setAttribute(name, value);
  }
}

const [MARGIN, HEAD] = [16, 28];

/** The charts beside each other under a title. */
export function chartPicture(charts: readonly SVGSVGElement[], title: string, from: Provenance): string {
  const stage = document.createElement('div');
  stage.className = 'light-stage';
  document.body.append(stage);
  const parts = [textAt(MARGIN, 24, 'start', INK, title)];
  let [x, bottom] = [MARGIN, 0];
  for (const chart of charts) {
    const copy = chart.cloneNode(true) as SVGSVGElement;
    stage.append(copy);
    const box = copy.getBBox(); // of all that is drawn: charts may write beyond their frame
    spell(copy);
    parts.push(`<g transform="translate(${x - box.x} ${MARGIN + HEAD - box.y})">${serialised(copy)}</g>`);
    x += box.width + 2 * MARGIN;
    bottom = Math.max(bottom, box.height);
  }
  stage.remove();
  const width = Math.max(x - MARGIN, title.length * 7.6 + 2 * MARGIN);
  return svgFile(width, bottom + HEAD + 2 * MARGIN, title, from, parts);
}

/** What is in a picture, as text. */
function serialised(picture: SVGSVGElement): string {
  const written = [...picture.children].map((child) => new XMLSerializer().serializeToString(child)).join('');
  return written.replaceAll(' xmlns="http://www.w3.org/2000/svg"', '');
}
