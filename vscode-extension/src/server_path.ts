/**
 * Where the `completer` program is: the setting, the search path, pipx and uv, then the environment of this extension.
 *
 * Never in a workspace: what somebody else's repository contains is not run because its folder happens to be in the
 * search path. Knows names and folders; whether there is a program is asked of the Machine.
 */

import * as path from 'node:path';

export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** The folders that are open. */
  readonly workspaces: readonly string[];
  isProgram(file: string): boolean;
  /** With symbolic links followed; as it is where there is nothing. */
  realPath(file: string): string;
}

export type Found = { readonly program: string } | { readonly problem: string };

const TOOL = 'completer-daemon';

/** undefined where none is installed. environment: of this extension. */
export function findServer(setting: string, environment: string, machine: Machine): Found | undefined {
  if (setting !== '') {
    if (!isAbsolute(setting)) return { problem: `completer.serverPath must be an absolute path, not ${setting}` };
    if (!machine.isProgram(setting)) return { problem: `completer.serverPath: there is no program ${setting}` };
    return { program: setting };
  }
  const name = programName('completer', machine);
  const places = [...searchPath(machine), ...toolFolders(machine), binFolder(environment, machine)];
  const program = places.map((folder) => path.join(folder, name)).find((file) => isUsable(file, machine));
  return program === undefined ? undefined : { program };
}

/** Pythons that may make an environment, the newest first. */
export function pythons(machine: Machine): string[] {
  const versions = ['3.13', '3.12', '3.11', '3.10'];
  const names = machine.platform === 'win32' ? ['python'] : ['python3', ...versions.map((v) => `python${v}`), 'python'];
  const files = searchPath(machine).map((folder) => names.map((name) => path.join(folder, programName(name, machine))));
  const found = files.flat().filter((file) => isUsable(file, machine));
  return found.filter((file, index) => found.findIndex((other) => machine.realPath(other) === machine.realPath(file)) === index);
}

export function binFolder(environment: string, machine: Machine): string {
  return path.join(environment, machine.platform === 'win32' ? 'Scripts' : 'bin');
}

export function programName(name: string, machine: Machine): string {
  return machine.platform === 'win32' ? `${name}.exe` : name;
}

/** Absolute folders alone: a relative one means a different folder in every workspace. */
function searchPath(machine: Machine): string[] {
  const variable = machine.variables['PATH'] ?? machine.variables['Path'] ?? '';
  return variable.split(machine.platform === 'win32' ? ';' : ':').filter(isAbsolute);
}

/** Where pipx and uv put programs, and where they keep the environments behind them. */
function toolFolders(machine: Machine): string[] {
  const { home, variables, platform } = machine;
  const local = path.join(home, '.local');
  const data = variables['XDG_DATA_HOME'] ?? path.join(local, 'share');
  const windows = variables['LOCALAPPDATA'] ?? path.join(home, 'AppData', 'Local');
  const roaming = variables['APPDATA'] ?? path.join(home, 'AppData', 'Roaming');
  const programs = [variables['PIPX_BIN_DIR'], variables['UV_TOOL_BIN_DIR'], path.join(local, 'bin')];
  const environments =
    platform === 'win32'
      ? [path.join(windows, 'pipx', 'venvs', TOOL), path.join(roaming, 'uv', 'tools', TOOL)]
      : [
          path.join(variables['PIPX_HOME'] ?? path.join(data, 'pipx'), 'venvs', TOOL),
          path.join(local, 'pipx', 'venvs', TOOL),
          path.join(variables['UV_TOOL_DIR'] ?? path.join(data, 'uv', 'tools'), TOOL),
        ];
  const folders = [...programs, ...environments.map((environment) => binFolder(environment, machine))];
  return folders.filter((folder) => folder !== undefined).filter(isAbsolute);
}

function isUsable(file: string, machine: Machine): boolean {
  if (!machine.isProgram(file)) return false;
  const names = [file, machine.realPath(file), machine.realPath(path.dirname(file))];
  return !machine.workspaces.some((folder) => names.some((name) => isInside(name, folder) || isInside(name, machine.realPath(folder))));
}

function isInside(file: string, folder: string): boolean {
  const relative = path.relative(folder, file);
  return relative === '' || (!relative.startsWith('..') && !path.isAbsolute(relative));
}

function isAbsolute(name: string): boolean {
  return path.isAbsolute(name);
}
