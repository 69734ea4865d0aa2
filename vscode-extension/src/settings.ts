/** The user's settings for this extension, and the machine as far as finding the program needs it. */

import * as fs from 'node:fs';
import * as os from 'node:os';
import * as vscode from 'vscode';
import type { Options } from './protocol';
import type { Machine } from './server_path';

const SECTION = 'completer';

export function isWanted(document: vscode.TextDocument, isAutomatic: boolean): boolean {
  return isEnabled(document) && read(isAutomatic ? 'automatic' : 'manual', true, document);
}

export function isEnabled(document: vscode.TextDocument): boolean {
  return read('enabled', true, document);
}

export function serverPath(): string {
  return read('serverPath', '');
}

export function configFile(): string {
  return read('configFile', '');
}

/** automatic is decided here for each document; the server need not know. */
export function options(): Options {
  return { streaming: true, automatic: true, single_line: read('singleLine', false), max_lines: read('maxLines', 0) };
}

/** Turn completion on or off for a document's language, for the user. */
export async function setLanguage(document: vscode.TextDocument, isOn: boolean): Promise<void> {
  await set(isOn, document, (value) =>
    vscode.workspace
      .getConfiguration(SECTION, { languageId: document.languageId })
      .update('enabled', value, vscode.ConfigurationTarget.Global, true),
  );
}

/** Turn completion on or off in the workspace folder of a document. */
export async function setFolder(folder: vscode.WorkspaceFolder, document: vscode.TextDocument, isOn: boolean): Promise<void> {
  const hasSeveral = (vscode.workspace.workspaceFolders ?? []).length > 1;
  const target = hasSeveral ? vscode.ConfigurationTarget.WorkspaceFolder : vscode.ConfigurationTarget.Workspace;
  await set(isOn, document, (value) => vscode.workspace.getConfiguration(SECTION, folder).update('enabled', value, target));
}

/** By taking back what was set, where that is enough. */
async function set(isOn: boolean, document: vscode.TextDocument, update: (value: boolean | undefined) => Thenable<void>): Promise<void> {
  await update(undefined);
  if (isEnabled(document) !== isOn) await update(isOn);
}

export function machine(): Machine {
  const folders = vscode.workspace.workspaceFolders ?? [];
  return {
    platform: process.platform,
    home: os.homedir(),
    variables: process.env,
    workspaces: folders.filter((folder) => folder.uri.scheme === 'file').map((folder) => folder.uri.fsPath),
    isProgram: (file) => {
      try {
        fs.accessSync(file, fs.constants.X_OK);
        return fs.statSync(file).isFile();
      } catch {
        return false;
      }
    },
    realPath: (file) => {
      try {
        return fs.realpathSync(file);
      } catch {
        return file;
      }
    },
  };
}

function read<T>(name: string, otherwise: T, document?: vscode.TextDocument): T {
  return vscode.workspace.getConfiguration(SECTION, document).get(name, otherwise);
}
