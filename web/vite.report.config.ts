// Builds the report of `qkv check --html`: one file without its document, which opens from a disk and asks no network.
import { createHash } from 'node:crypto';
import type { Plugin } from 'vite';
import { defineConfig } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';
import { leanFonts } from './vite.fonts';

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

// Nothing runs and nothing is loaded but what stands in the file when it is built: whatever the document says is inert.
const policy: Plugin = {
  name: 'content-security-policy',
  enforce: 'post',
  generateBundle: {
    order: 'post', // when everything is inside the file
    handler(_, bundle) {
      const page = bundle['report.html'];
      if (page?.type !== 'asset' || typeof page.source !== 'string') throw new Error('the build made no report.html');
      const text = page.source;
      const inside = (tag: RegExp) => [...text.matchAll(tag)].map(([, one = '']) => hashOf(one)).join(' ');
      const scripts = inside(/<script type="module"[^>]*>([^]*?)<\/script>/g);
      const styles = inside(/<style[^>]*>([^]*?)<\/style>/g);
      const rules =
        `default-src 'none'; script-src ${scripts}; style-src ${styles}; font-src data:; img-src blob:; base-uri 'none'; form-action 'none'`;
      const charset = '<meta charset="utf-8" />';
      page.source = text.replace(charset, `${charset}\n    <meta http-equiv="Content-Security-Policy" content="${rules}" />`);
    },
  },
};

export default defineConfig({
  plugins: [leanFonts(/-latin-wght-/), viteSingleFile(), policy],
  publicDir: false,
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
  build: { target: 'es2022', modulePreload: { polyfill: false }, rollupOptions: { input: 'report.html' } },
});
