/** What the program has to say about its work: the statistics page in a panel, the reasons in words, the log. */

import * as fs from 'node:fs/promises';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { pageForPanel } from './page';
import type { Outcome } from './program';
import { lastLine, run } from './program';

/** click's exit code for a command that it does not know. */
const UNKNOWN_COMMAND = 2;

export class Statistics implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;

  /** program: what runs; undefined where there is none. storage: a folder for the page. */
  constructor(
    private readonly program: () => string | undefined,
    private readonly storage: string,
    private readonly channel: vscode.LogOutputChannel,
  ) {}

  async show(): Promise<void> {
    const file = path.join(this.storage, 'statistics.html');
    await fs.mkdir(this.storage, { recursive: true });
    const outcome = await this.run('statistics', ['stats', '--html', file]);
    if (outcome === undefined) return;
    const html = await fs.readFile(file, 'utf8');
    await fs.rm(file);
    this.open(html);
  }

  async why(document: vscode.TextDocument | undefined): Promise<void> {
    const outcome = await this.run('explanations', ['why', ...(document?.uri.scheme === 'file' ? [document.uri.fsPath] : [])]);
    if (outcome !== undefined) this.write(outcome.stdout);
  }

  async logs(): Promise<void> {
    const outcome = await this.run('log', ['logs']);
    if (outcome !== undefined) this.write(outcome.stdout);
  }

  dispose(): void {
    this.panel?.dispose();
  }

  private async run(what: string, args: readonly string[]): Promise<Outcome | undefined> {
    const program = this.program();
    if (program === undefined) {
      void vscode.window.showWarningMessage('completer: the program is not installed');
      return undefined;
    }
    const outcome = await run(program, args);
    if (outcome.code === 0) return outcome;
    const reason = outcome.code === UNKNOWN_COMMAND ? `this version of the program has no ${what} yet` : lastLine(outcome);
    void vscode.window.showWarningMessage(`completer: ${reason}`);
    return undefined;
  }

  private write(text: string): void {
    for (const line of text.trimEnd().split('\n')) this.channel.info(line);
    this.channel.show(true);
  }

  private open(html: string): void {
    if (this.panel === undefined) {
      this.panel = vscode.window.createWebviewPanel('completer.statistics', 'completer statistics', vscode.ViewColumn.Active, { enableScripts: false });
      const themes = vscode.window.onDidChangeActiveColorTheme(() => {
        this.draw(html);
      });
      this.panel.onDidDispose(() => {
        themes.dispose();
        this.panel = undefined;
      });
    }
    this.draw(html);
    this.panel.reveal();
  }

  private draw(html: string): void {
    const { Dark, HighContrast } = vscode.ColorThemeKind;
    const isDark = [Dark, HighContrast].includes(vscode.window.activeColorTheme.kind);
    if (this.panel !== undefined) this.panel.webview.html = pageForPanel(html, isDark);
  }
}
