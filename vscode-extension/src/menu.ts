/** What a click on the status bar item offers. */

import * as vscode from 'vscode';
import { isEnabled } from './settings';

interface Choice extends vscode.QuickPickItem {
  readonly command: string;
  readonly argument?: string;
}

/** remedy: the command line that mends what is wrong. */
export async function showMenu(remedy: string | undefined, isSnoozing: boolean): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  const mend: Choice[] = remedy === undefined ? [] : [{ label: `$(tools) Run ${remedy}`, command: 'completer.mend' }];
  const choice = await vscode.window.showQuickPick([...mend, ...choices(document, isSnoozing)], { title: 'completer' });
  if (choice !== undefined) await vscode.commands.executeCommand(choice.command, choice.argument);
}

function choices(document: vscode.TextDocument | undefined, isSnoozing: boolean): Choice[] {
  const snooze = isSnoozing
    ? { label: '$(bell) End the snooze', command: 'completer.wake' }
    : { label: '$(bell-slash) Snooze …', command: 'completer.snooze' };
  return [
    ...(document === undefined ? [] : switches(document)),
    snooze,
    { label: '$(graph) Statistics', command: 'completer.statistics' },
    { label: '$(question) Why this k and this source', command: 'completer.why' },
    { label: '$(output) Log', command: 'completer.logs' },
    { label: '$(refresh) Restart', command: 'completer.restart' },
    { label: '$(gear) Settings', command: 'workbench.action.openSettings', argument: 'completer.' },
  ];
}

function switches(document: vscode.TextDocument): Choice[] {
  const [icon, verb] = isEnabled(document) ? ['$(circle-slash)', 'Turn off'] : ['$(check)', 'Turn on'];
  const folder = vscode.workspace.getWorkspaceFolder(document.uri);
  const here = folder && { label: `${icon} ${verb} in the folder ${folder.name}`, command: 'completer.toggleFolder' };
  return [{ label: `${icon} ${verb} for ${document.languageId}`, command: 'completer.toggleLanguage' }, ...(here ? [here] : [])];
}
