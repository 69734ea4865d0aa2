/**
 * Installs the wheel that this extension carries into an environment of its own, in the extension's storage.
 *
 * Only when the user says so: its dependencies, PyTorch among them, are fetched from wherever pip is set up to fetch.
 */

import * as fs from 'node:fs/promises';
import * as path from 'node:path';
import type { Outcome } from './program';
import { lastLine } from './program';
import type { Machine } from './server_path';
import { binFolder, programName, pythons } from './server_path';

/** Prints whether this Python can make an environment that our program can run in. */
const CHECK = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))';

export type Run = (program: string, args: readonly string[]) => Promise<Outcome>;

/** The wheel in a folder; undefined for an extension packaged without one. */
export async function carriedWheel(folder: string): Promise<string | undefined> {
  const names = await fs.readdir(folder).catch(() => []);
  const wheel = names.find((name) => name.endsWith('.whl'));
  return wheel === undefined ? undefined : path.join(folder, wheel);
}

/** The program, installed. Raises an Error that says what failed and what to do; then nothing is left behind. */
export async function install(wheel: string, environment: string, machine: Machine, run: Run): Promise<string> {
  const python = await usablePython(machine, run);
  try {
    await must(run(python, ['-I', '-m', 'venv', '--clear', environment]), `${python} cannot make an environment in ${environment}`);
    const own = path.join(binFolder(environment, machine), programName('python', machine));
    const pip = ['-I', '-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', wheel];
    await must(run(own, pip), 'the program and what it needs cannot be installed');
  } catch (error) {
    await fs.rm(environment, { recursive: true, force: true });
    throw error;
  }
  return path.join(binFolder(environment, machine), programName('completer', machine));
}

async function usablePython(machine: Machine, run: Run): Promise<string> {
  for (const python of pythons(machine)) {
    if ((await run(python, ['-I', '-c', CHECK])).code === 0) return python;
  }
  throw new Error('no Python from 3.10 on that has venv is in the search path; install one (on Debian and Ubuntu with the package python3-venv)');
}

async function must(running: Promise<Outcome>, what: string): Promise<void> {
  const outcome = await running;
  if (outcome.code !== 0) throw new Error(`${what}: ${lastLine(outcome)}`);
}
