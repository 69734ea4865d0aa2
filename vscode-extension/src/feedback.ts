/**
 * What became of the suggestion on the screen, as far as documents and cursors show it: accepted in part, or left.
 *
 * That all of it was accepted the item's own command reports. That it was shown the server takes from its answer.
 */

import * as vscode from 'vscode';
import type { InlineCompletionItem } from 'vscode-languageclient/node';
import { DID_PARTIALLY_ACCEPT, DID_REJECT } from './protocol';
import type { Suggestion } from './suggestion';

export class Feedback implements vscode.Disposable {
  private suggestion: Suggestion<InlineCompletionItem> | undefined;
  private cursor = new vscode.Position(0, 0);
  private readonly subscriptions: vscode.Disposable;

  constructor(private readonly send: (method: string, params: object) => void) {
    this.subscriptions = vscode.Disposable.from(
      vscode.workspace.onDidChangeTextDocument((event) => {
        this.changed(event);
      }),
      vscode.window.onDidChangeTextEditorSelection((event) => {
        const isThere = event.selections.length === 1 && event.selections[0]?.isEmpty === true && event.selections[0].active.isEqual(this.cursor);
        if (event.textEditor.document.uri.toString() === this.suggestion?.place.uri && !isThere) this.reject();
      }),
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        if (editor?.document.uri.toString() !== this.suggestion?.place.uri) this.reject();
      }),
    );
  }

  /** The editor was given it; what it was given before is the server's to judge. */
  shown(suggestion: Suggestion<InlineCompletionItem> | undefined, cursor: vscode.Position): void {
    this.suggestion = suggestion;
    this.cursor = cursor;
  }

  /** The user does not want what is on the screen. */
  reject(): void {
    if (this.suggestion !== undefined) this.send(DID_REJECT, { item: this.suggestion.item });
    this.suggestion = undefined;
  }

  dispose(): void {
    this.subscriptions.dispose();
  }

  private changed(event: vscode.TextDocumentChangeEvent): void {
    const suggestion = this.suggestion;
    const change = event.contentChanges[0];
    if (suggestion === undefined || change === undefined || event.document.uri.toString() !== suggestion.place.uri) return;
    const isAtCursor = event.contentChanges.length === 1 && change.range.isEmpty && change.range.start.isEqual(this.cursor);
    const acceptedLength = isAtCursor ? suggestion.acceptedBy(change.text) : 0;
    if (acceptedLength > 0) this.send(DID_PARTIALLY_ACCEPT, { item: suggestion.item, acceptedLength });
    if (isAtCursor && suggestion.typeThrough(change.text)) {
      this.cursor = event.document.positionAt(event.document.offsetAt(this.cursor) + change.text.length);
    } else {
      this.suggestion = undefined;
    }
  }
}
