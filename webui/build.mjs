// Builds the pages into dist, and holds what a browser fetches first to its budget:
//   node build.mjs          build
//   node build.mjs --check  only look at what is built
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const budget = 60_000; // bytes that the first page costs, gzipped
const dist = join(import.meta.dirname, 'dist');

if (!process.argv.includes('--check')) {
  const { build } = await import('vite');
  for (const name of readdirSync(dist)) if (name !== '.keep') rmSync(join(dist, name), { recursive: true });
  await build({ root: import.meta.dirname, logLevel: 'warn' });
}
if (!existsSync(join(dist, 'index.html'))) {
  console.error('webui/dist has no index.html; build the pages first: ./justw ui');
  process.exit(1);
}
const size = (name) => gzipSync(readFileSync(join(dist, name)), { level: 9 }).length;
const index = readFileSync(join(dist, 'index.html'), 'utf8');
const first = ['index.html', ...[...index.matchAll(/(?:src|href)="\/([^"]+)"/g)].map((m) => m[1])];
const initial = first.reduce((sum, name) => sum + size(name), 0);
const all = readdirSync(join(dist, 'assets')).reduce((sum, name) => sum + size(join('assets', name)), 0);
console.log(`pages: first load ${(initial / 1000).toFixed(1)} KB gzipped of ${budget / 1000} KB, everything ${(all / 1000).toFixed(1)} KB`);
if (initial > budget) {
  console.error(`over the budget: ${first.map((name) => `${name} ${size(name)}`).join(', ')}; let a page be fetched when it is opened (src/lib/lazy.tsx)`);
  process.exit(1);
}
