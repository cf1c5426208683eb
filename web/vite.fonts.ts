// Keeps of the fonts what is read, since the tool holds all of a page and the site works offline.
import type { Plugin } from 'vite';

/** `scripts` is what the names of the files that are kept have in them; of formats, the one that every browser of these days reads. */
export function leanFonts(scripts: RegExp): Plugin {
  return {
    name: 'lean-fonts',
    enforce: 'pre',
    transform(css, id) {
      if (id.includes('/@fontsource-variable/'))
        return css.replace(/@font-face\s*{[^}]*}/g, (face) => (scripts.test(face) ? face : ''));
      if (id.endsWith('/katex.min.css')) return css.replace(/,url\([^)]*\.(woff|ttf)\) format\("(woff|truetype)"\)/g, '');
      return null;
    },
  };
}
