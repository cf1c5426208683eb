// Builds the panel that a trace shows itself as in a notebook: one ES module with its style inside, as anywidget loads it.
import { defineConfig } from 'vite';

export default defineConfig({
  publicDir: false,
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
  define: { 'process.env.NODE_ENV': '"production"' }, // a library's build leaves it to whoever bundles; nobody does
  build: {
    target: 'es2022',
    lib: { entry: 'src/widget/main.tsx', formats: ['es'], fileName: () => 'widget.js' },
    rollupOptions: { output: { inlineDynamicImports: true } },
  },
});
