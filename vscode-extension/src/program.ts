/** Runs a program to its end, away from any workspace. */

import { execFile } from 'node:child_process';
import * as os from 'node:os';

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** code: -1 where it could not be started or was stopped. */
export function run(program: string, args: readonly string[], signal?: AbortSignal): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { cwd: os.homedir(), maxBuffer: 64_000_000, ...(signal && { signal }) };
    execFile(program, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, stdout, stderr: stderr === '' && code !== 0 ? String(error?.message) : stderr });
    });
  });
}

/** The last thing that a program had to say, for one line. */
export function lastLine(outcome: Outcome): string {
  return outcome.stderr.trim().split('\n').at(-1) ?? '';
}
