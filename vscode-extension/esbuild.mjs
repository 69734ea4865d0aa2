// Bundles the extension into dist/extension.js or, with --tests, every test into dist/test/.
import { build } from 'esbuild';
import { readdirSync, rmSync } from 'node:fs';

const isForTests = process.argv.includes('--tests');
const entries = isForTests ? readdirSync('test').map((name) => `test/${name}`) : ['src/extension.ts'];
const outdir = isForTests ? 'dist/test' : 'dist';
rmSync(outdir, { recursive: true, force: true });

await build({
  entryPoints: entries,
  outdir,
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  external: ['vscode'],
  minify: !isForTests,
  sourcemap: isForTests ? 'inline' : false,
});
