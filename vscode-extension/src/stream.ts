/**
 * Lets a suggestion on the screen grow, without a moment in which it is gone.
 *
 * The stable interface has no way to say that a suggestion has changed, and the editor asks a provider once for each
 * version of a document. A provider registered anew counts as another one; asked for it by its name, the editor keeps
 * what it shows until the answer is there. Editors too old to ask by name ask all providers, and once only: they
 * get the rest of a suggestion in one piece, when it is complete.
 */

import * as vscode from 'vscode';
import type { Place, Suggestion } from './suggestion';
import { isSamePlace } from './suggestion';

const TRIGGER = 'editor.action.inlineSuggest.trigger';

export class Stream<Item> implements vscode.Disposable {
  private registration: vscode.Disposable;
  private latest: Suggestion<Item> | undefined;
  private isAsking = false;
  private arrived = 0;
  private asked = 0;
  private shown = '';

  /** register: registers the provider that answers through `answer`. */
  constructor(
    private readonly extensionId: string,
    private readonly register: () => vscode.Disposable,
  ) {
    this.registration = register();
  }

  /** More of a suggestion has arrived. Nothing happens where the user has moved on. */
  async grow(suggestion: Suggestion<Item>): Promise<void> {
    this.latest = suggestion;
    this.arrived += 1;
    if (this.isAsking) return;
    this.isAsking = true;
    try {
      let arrived: number;
      do {
        arrived = this.arrived;
        await this.show(this.latest);
      } while (arrived !== this.arrived);
    } finally {
      this.isAsking = false;
    }
  }

  /** The texts to show, the first one first, where it is we who made the editor ask; undefined where it is the user. */
  async answer(place: Place, isAutomatic: boolean, token: vscode.CancellationToken): Promise<string[] | undefined> {
    const suggestion = this.latest;
    if (!this.isAsking || suggestion === undefined || !isSamePlace(suggestion.place, place)) return undefined;
    this.asked += 1;
    const before = this.shown;
    if (!isAutomatic) {
      await Promise.race([suggestion.ended(), cancelled(token)]);
      if (token.isCancellationRequested) return [];
    }
    this.shows(suggestion.text);
    const text = suggestion.give();
    // Asked like this, the editor would put what it shows first, unless it gets it again, behind the new one.
    return isAutomatic || before === text ? [text] : [text, before];
  }

  /** The editor was given this text. */
  shows(text: string): void {
    this.shown = text;
  }

  dispose(): void {
    this.registration.dispose();
  }

  private async show(suggestion: Suggestion<Item>): Promise<void> {
    if (!isCursorAt(suggestion.place)) return;
    const asked = this.asked;
    this.renew();
    await vscode.commands.executeCommand(TRIGGER, { providerId: `${this.extensionId}:*`, explicit: false });
    if (asked === this.asked && isCursorAt(suggestion.place)) await vscode.commands.executeCommand(TRIGGER);
  }

  private renew(): void {
    const before = this.registration;
    this.registration = this.register();
    before.dispose();
  }
}

function isCursorAt(place: Place): boolean {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || editor.document.uri.toString() !== place.uri || editor.document.version !== place.version) return false;
  return editor.selection.isEmpty && editor.selection.active.isEqual(new vscode.Position(place.line, place.character));
}

function cancelled(token: vscode.CancellationToken): Promise<void> {
  return new Promise((resolve) => {
    token.onCancellationRequested(() => {
      resolve();
    });
  });
}
