import assert from 'node:assert/strict';
import * as fs from 'node:fs/promises';
import * as os from 'node:os';
import * as path from 'node:path';
import test from 'node:test';
import { carriedWheel, install } from '../src/installation';
import type { Machine } from '../src/server_path';

const WHEEL = '/extension/wheel/completer_daemon-0.1.0-py3-none-any.whl';

const MACHINE: Machine = {
  platform: 'linux',
  home: '/home/me',
  variables: { PATH: '/old:/usr/bin' },
  workspaces: [],
  isProgram: (file) => ['/old/python3', '/usr/bin/python3'].includes(file),
  realPath: (file) => file,
};

/** A machine on which commands that contain `failing` fail, and all others do what they should. */
function recorder(failing: string[]): { ran: string[]; run: (program: string, args: readonly string[]) => Promise<{ code: number; stdout: string; stderr: string }> } {
  const ran: string[] = [];
  return {
    ran,
    run: (program, args) => {
      const command = [program, ...args].join(' ');
      ran.push(command);
      const code = failing.some((part) => command.includes(part)) ? 1 : 0;
      return Promise.resolve({ code, stdout: '', stderr: code === 0 ? '' : 'first\nERROR: no network\n' });
    },
  };
}

async function temporary(): Promise<string> {
  return fs.mkdtemp(path.join(os.tmpdir(), 'completer-'));
}

test('the wheel, by file name, into an environment made with the first Python that is new enough', async () => {
  const { ran, run } = recorder(['/old/python3']);
  const environment = path.join(await temporary(), 'environment');
  assert.equal(await install(WHEEL, environment, MACHINE, run), path.join(environment, 'bin', 'completer'));
  assert.equal(ran.length, 4);
  assert.equal(ran[2], `/usr/bin/python3 -I -m venv --clear ${environment}`);
  assert.equal(ran[3], `${environment}/bin/python -I -m pip install --no-input --disable-pip-version-check ${WHEEL}`);
});

test('without a Python, what to install is said', async () => {
  const { run } = recorder(['python3']);
  await assert.rejects(install(WHEEL, '/nowhere', MACHINE, run), /no Python from 3\.10 on .*python3-venv/);
});

test('what failed is said, and half an environment is not left behind', async () => {
  const environment = path.join(await temporary(), 'environment');
  await fs.mkdir(environment);
  const { run } = recorder(['pip install']);
  await assert.rejects(install(WHEEL, environment, MACHINE, run), /cannot be installed: ERROR: no network/);
  await assert.rejects(fs.access(environment));
});

test('an extension may have been packaged without a wheel', async () => {
  const folder = await temporary();
  assert.equal(await carriedWheel(path.join(folder, 'wheel')), undefined);
  await fs.writeFile(path.join(folder, 'a-1-py3-none-any.whl'), '');
  assert.equal(await carriedWheel(folder), path.join(folder, 'a-1-py3-none-any.whl'));
});
