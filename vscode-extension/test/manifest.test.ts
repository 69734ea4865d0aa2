import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import test from 'node:test';

interface Manifest {
  version: string;
  capabilities: { untrustedWorkspaces: { restrictedConfigurations: string[] } };
  contributes: { commands: { command: string }[]; configuration: { properties: Record<string, { scope: string; markdownDescription: string }> } };
}

const text = fs.readFileSync('package.json', 'utf8');
const manifest = JSON.parse(text) as Manifest;
const readme = fs.readFileSync('README.md', 'utf8');
const properties = manifest.contributes.configuration.properties;

test('it has the version of the program', () => {
  const program = /__version__ = "(.+)"/.exec(fs.readFileSync('../completer/__init__.py', 'utf8'))?.[1];
  assert.equal(manifest.version, program);
});

test('what runs, and what is written down, no workspace can set', () => {
  const machine = Object.entries(properties).filter(([, setting]) => setting.scope === 'machine').map(([name]) => name);
  assert.deepEqual(machine, ['completer.serverPath', 'completer.configFile', 'completer.trace.server']);
  assert.deepEqual(manifest.capabilities.untrustedWorkspaces.restrictedConfigurations, machine);
  for (const name of Object.keys(properties)) {
    assert.ok(machine.includes(name) || /^completer\.(enabled|automatic|manual|singleLine|maxLines)$/.test(name), name);
  }
});

test('the README names every setting and every command', () => {
  const commands = manifest.contributes.commands as { command: string; title: string }[];
  for (const name of Object.keys(properties)) assert.ok(readme.includes(`\`${name}\``), name);
  for (const { title } of commands) assert.ok(readme.includes(title), title);
});

test('no interface that is only proposed', () => {
  assert.doesNotMatch(text, /enabledApiProposals/);
});
