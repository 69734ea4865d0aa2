/** A while without suggestions, in this window. */

import * as vscode from 'vscode';

const MINUTES = [5, 15, 60];

export class Snooze {
  private untilMs = 0;

  /** tell(minutes) makes it so; 0 ends it. */
  constructor(private readonly tell: (minutes: number) => void) {}

  get isOn(): boolean {
    return this.leftMinutes() > 0;
  }

  async ask(): Promise<void> {
    const choices = MINUTES.map((minutes) => ({ label: `${minutes} minutes`, minutes }));
    const choice = await vscode.window.showQuickPick(choices, { title: 'completer: no suggestions for' });
    if (choice !== undefined) this.start(choice.minutes);
  }

  start(minutes: number): void {
    this.untilMs = Date.now() + minutes * 60_000;
    this.tell(minutes);
  }

  wake(): void {
    this.untilMs = 0;
    this.tell(0);
  }

  /** To a server that is new. */
  repeat(): void {
    if (this.isOn) this.tell(this.leftMinutes());
  }

  private leftMinutes(): number {
    return Math.max(0, this.untilMs - Date.now()) / 60_000;
  }
}
