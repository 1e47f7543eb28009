import { defineConfig } from 'vitest/config';

// The pages are served by the master from its root; assets/ holds what is named
// after its content. `npm run dev` shows them against a master elsewhere:
// DET_MASTER=http://127.0.0.1:8080 npm run dev
export default defineConfig({
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: 'dist',
    emptyOutDir: false, // build.mjs clears it and leaves .keep
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    proxy: Object.fromEntries(
      ['/api', '/info', '/proxy', '/checkpoints'].map((p) => [p, process.env.DET_MASTER ?? 'http://127.0.0.1:8080']),
    ),
  },
  test: { include: ['test/*.test.ts'], environment: 'node', css: true },
});
