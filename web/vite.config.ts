// Builds the page: mode `http` for the binary (`qkv explore`), mode `wasm` for a static host (`make site`).
import { defineConfig } from 'vitest/config';
import { leanFonts } from './vite.fonts';

// `npm run dev` shows the page and asks a running `qkv explore`. The engine refuses foreign hosts and
// origins, so the proxy speaks in its name.
const engine = process.env['QKV_EXPLORE'] ?? 'http://127.0.0.1:8758';

// The scripts that the lesson is written in.
const SCRIPTS = /-(latin|latin-ext|greek)-wght-/;

export default defineConfig(({ mode }) => ({
  plugins: [leanFonts(SCRIPTS)],
  base: './', // works in any folder of any host
  define: { __SOURCE__: JSON.stringify(mode === 'wasm' ? 'wasm' : 'http') },
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
  build: {
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // the Content-Security-Policy allows no data: scripts or fonts
    chunkSizeWarningLimit: 400, // kB; KaTeX is one chunk, loaded when the first formula is seen
  },
  worker: { format: 'es' },
  server: {
    fs: { allow: ['..'] }, // examples/lesson is shown as it is
    proxy: {
      '/api': {
        target: engine,
        changeOrigin: true,
        headers: { Origin: engine },
      },
    },
  },
  test: { include: ['**/*.test.ts'] },
}));
