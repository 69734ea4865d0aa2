// Packages the extension with the program's wheel: node package.mjs [WHEEL] OUT.vsix. Without a wheel it carries none.
import { createVSIX } from '@vscode/vsce';
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { basename } from 'node:path';

// The part of a wheel's name that says where it runs, and what the editor calls that; `any` is everywhere.
const TARGETS = [
  [/-any\.whl$/, undefined],
  [/linux_x86_64\.whl$/, 'linux-x64'],
  [/linux_aarch64\.whl$/, 'linux-arm64'],
  [/macosx_\w+_x86_64\.whl$/, 'darwin-x64'],
  [/macosx_\w+_arm64\.whl$/, 'darwin-arm64'],
];

const files = process.argv.slice(2);
const packagePath = files.find((file) => file.endsWith('.vsix'));
const wheel = files.find((file) => file.endsWith('.whl'));
if (packagePath === undefined) throw new Error('usage: node package.mjs [WHEEL] OUT.vsix');

rmSync('wheel', { recursive: true, force: true });
mkdirSync('wheel');
if (wheel !== undefined) copyFileSync(wheel, `wheel/${basename(wheel)}`);
const target = wheel === undefined ? undefined : targetOf(wheel);
await createVSIX({ packagePath, ...(target && { target }), dependencies: false, allowMissingRepository: true, rewriteRelativeLinks: false });

function targetOf(wheel) {
  const found = TARGETS.find(([pattern]) => pattern.test(wheel));
  if (found === undefined) throw new Error(`no editor runs where ${basename(wheel)} does`);
  return found[1];
}
