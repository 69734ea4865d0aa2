import assert from 'node:assert/strict';
import test from 'node:test';
import type { Machine } from '../src/server_path';
import { findServer, pythons } from '../src/server_path';

const OWN = '/storage/environment';

function machine(programs: string[], path: string, more: Partial<Machine> = {}): Machine {
  return {
    platform: 'linux',
    home: '/home/me',
    variables: { PATH: path },
    workspaces: ['/home/me/project'],
    isProgram: (file) => programs.includes(file),
    realPath: (file) => file,
    ...more,
  };
}

test('the setting comes before the search path', () => {
  const found = findServer('/opt/completer', OWN, machine(['/opt/completer', '/usr/bin/completer'], '/usr/bin'));
  assert.deepEqual(found, { program: '/opt/completer' });
});

test('a setting that names no program is said, and nothing else is taken instead', () => {
  const found = findServer('/opt/completer', OWN, machine(['/usr/bin/completer'], '/usr/bin'));
  assert.deepEqual(found, { problem: 'completer.serverPath: there is no program /opt/completer' });
});

test('a setting must be an absolute path', () => {
  const found = findServer('bin/completer', OWN, machine(['bin/completer'], '/usr/bin'));
  assert.deepEqual(found, { problem: 'completer.serverPath must be an absolute path, not bin/completer' });
});

test('the search path, pipx, uv and the environment of the extension, in this order', () => {
  const programs = [
    '/usr/bin/completer',
    '/home/me/.local/bin/completer',
    '/home/me/.local/share/pipx/venvs/completer-daemon/bin/completer',
    '/home/me/.local/share/uv/tools/completer-daemon/bin/completer',
    '/storage/environment/bin/completer',
  ];
  for (let taken = 0; taken < programs.length; taken++) {
    assert.deepEqual(findServer('', OWN, machine(programs.slice(taken), '/bin:/usr/bin')), { program: programs[taken] });
  }
  assert.equal(findServer('', OWN, machine([], '/bin:/usr/bin')), undefined);
});

test('nothing in a workspace is run, however it comes into the search path', () => {
  const project = '/home/me/project';
  for (const folder of [project, `${project}/.venv/bin`, `${project}/sub/..`]) {
    assert.equal(findServer('', OWN, machine([`${folder}/completer`, `${project}/completer`], folder)), undefined, folder);
  }
});

test('nor what a symbolic link leads there to', () => {
  const linked = machine(['/usr/local/bin/completer'], '/usr/local/bin', {
    realPath: (file) => file.replace('/usr/local/bin', '/home/me/project/bin'),
  });
  assert.equal(findServer('', OWN, linked), undefined);
});

test('nor where the workspace was opened by a symbolic link', () => {
  const linked = machine(['/data/project/bin/completer'], '/data/project/bin', {
    realPath: (file) => file.replace('/home/me/project', '/data/project'),
  });
  assert.equal(findServer('', OWN, linked), undefined);
});

test('a folder beside the workspace whose name begins alike is not in it', () => {
  const program = '/home/me/project-tools/completer';
  assert.deepEqual(findServer('', OWN, machine([program], '/home/me/project-tools')), { program });
});

test('relative folders in the search path mean the workspace, and are passed over', () => {
  assert.equal(findServer('', OWN, machine(['completer', './completer', 'bin/completer'], ':.:bin')), undefined);
});

test('pythons are taken from the search path by the same rules', () => {
  const found = pythons(machine(['/usr/bin/python3', '/usr/bin/python3.12', '/home/me/project/.venv/bin/python3'], '/home/me/project/.venv/bin:/usr/bin'));
  assert.deepEqual(found, ['/usr/bin/python3', '/usr/bin/python3.12']);
});
