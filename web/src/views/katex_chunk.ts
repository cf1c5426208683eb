// KaTeX and its style, in a chunk of their own that is loaded when a formula is seen.
import katex from 'katex';
import 'katex/dist/katex.min.css';

export function draw(tex: string, element: HTMLElement, isDisplay: boolean) {
  katex.render(tex, element, { displayMode: isDisplay, output: 'htmlAndMathml', throwOnError: false, strict: 'ignore' });
}
