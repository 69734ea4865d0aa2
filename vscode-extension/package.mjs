// Packages the extension with the program's wheel: node package.mjs [WHEEL] OUT.vsix. Without a wheel it carries none.
import { createVSIX } from '@vscode/vsce';
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { basename } from 'node:path';

const files = process.argv.slice(2);
const packagePath = files.find((file) => file.endsWith('.vsix'));
const wheel = files.find((file) => file.endsWith('.whl'));
if (packagePath === undefined) throw new Error('usage: node package.mjs [WHEEL] OUT.vsix');

rmSync('wheel', { recursive: true, force: true });
mkdirSync('wheel');
if (wheel !== undefined) copyFileSync(wheel, `wheel/${basename(wheel)}`);
await createVSIX({ packagePath, dependencies: false, allowMissingRepository: true, rewriteRelativeLinks: false });
