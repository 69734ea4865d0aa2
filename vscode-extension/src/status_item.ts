/** The item in the status bar, for the document that the user is in. */

import * as vscode from 'vscode';
import { isEnabled } from './settings';
import type { State } from './status';
import { display } from './status';

export class StatusItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('completer', vscode.StatusBarAlignment.Right, 100);
  private state: State = { starting: 'starting' };
  private readonly subscriptions: vscode.Disposable;

  constructor() {
    this.item.name = 'completer';
    this.item.command = 'completer.menu';
    const update = (): void => {
      this.show();
    };
    this.subscriptions = vscode.Disposable.from(
      this.item,
      vscode.window.onDidChangeActiveTextEditor(update),
      vscode.workspace.onDidChangeConfiguration(update),
    );
    this.show();
    this.item.show();
  }

  set(state: State): void {
    this.state = state;
    this.show();
  }

  /** The command line that mends what is wrong, where the server knows one. */
  get remedy(): string | undefined {
    return 'server' in this.state ? (this.state.server.command ?? undefined) : undefined;
  }

  dispose(): void {
    this.subscriptions.dispose();
  }

  private show(): void {
    const document = vscode.window.activeTextEditor?.document;
    const isOff = 'server' in this.state && document !== undefined && !isEnabled(document);
    const shown = display(isOff ? { off: `off here: completer.enabled is false for ${document.languageId} in this folder` } : this.state);
    this.item.text = shown.text;
    this.item.tooltip = `completer: ${shown.tooltip}`;
    this.item.accessibilityInformation = { label: `completer, ${shown.tooltip}` };
    this.item.backgroundColor = shown.isError ? new vscode.ThemeColor('statusBarItem.errorBackground') : undefined;
  }
}
