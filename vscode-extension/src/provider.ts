/** Answers the editor's requests for ghost text: with what grows, or with what the server says, asked once a key. */

import * as vscode from 'vscode';
import type { InlineCompletionItem } from 'vscode-languageclient/node';
import { InlineCompletionRequest } from 'vscode-languageclient/node';
import type { Client } from './client';
import { SELECTOR } from './client';
import type { Feedback } from './feedback';
import type { Chunk } from './protocol';
import { isWanted } from './settings';
import { Stream } from './stream';
import type { Place } from './suggestion';
import { Suggestion } from './suggestion';

export class Provider implements vscode.InlineCompletionItemProvider, vscode.Disposable {
  private current: Suggestion<InlineCompletionItem> | undefined;
  /** Of an item whose answer has not come yet. */
  private early: Chunk | undefined;
  private dismissals = 0;
  private readonly stream: Stream<InlineCompletionItem>;

  /** client: the one that runs, if one does. */
  constructor(
    extensionId: string,
    private readonly client: () => Client | undefined,
    private readonly feedback: Feedback,
  ) {
    this.stream = new Stream(extensionId, () => vscode.languages.registerInlineCompletionItemProvider(SELECTOR, this));
  }

  async provideInlineCompletionItems(
    document: vscode.TextDocument,
    position: vscode.Position,
    context: vscode.InlineCompletionContext,
    token: vscode.CancellationToken,
  ): Promise<vscode.InlineCompletionItem[]> {
    const place = placeOf(document, position, context);
    const isAutomatic = context.triggerKind === vscode.InlineCompletionTriggerKind.Automatic;
    const texts = await this.stream.answer(place, isAutomatic, token);
    const growing = this.current;
    if (texts !== undefined) return growing === undefined ? [] : texts.map((text) => shownItem(growing.item, text));

    const client = this.client();
    const dismissals = this.dismissals;
    const item = client !== undefined && isWanted(document, isAutomatic) ? await ask(client, document, position, context, token) : undefined;
    if (token.isCancellationRequested || dismissals !== this.dismissals) return [];
    this.current?.end();
    this.current = item && suggestionOf(item, place);
    if (this.early !== undefined && this.early.id === this.current?.id) this.current.grow(this.early.insertText, this.early.done);
    this.early = undefined;
    this.feedback.shown(this.current, position);
    if (item === undefined || this.current === undefined) return [];
    const text = this.current.give();
    this.stream.shows(text);
    return [shownItem(item, text)];
  }

  /** More of an item has arrived. */
  grow(chunk: Chunk): void {
    const suggestion = this.current;
    if (suggestion?.id !== chunk.id) this.early = chunk;
    else if (suggestion.grow(chunk.insertText, chunk.done)) void this.stream.grow(suggestion);
  }

  /** The user does not want what is on the screen: neither more of it is shown, nor what is on its way. */
  dismiss(): void {
    this.dismissals += 1;
    this.feedback.reject();
    this.forget();
  }

  /** The server is another one now. */
  forget(): void {
    this.current?.end();
    this.current = this.early = undefined;
  }

  dispose(): void {
    this.stream.dispose();
  }
}

async function ask(
  client: Client,
  document: vscode.TextDocument,
  position: vscode.Position,
  context: vscode.InlineCompletionContext,
  token: vscode.CancellationToken,
): Promise<InlineCompletionItem | undefined> {
  const params = client.code2ProtocolConverter.asInlineCompletionParams(document, position, context);
  try {
    const answer = await client.sendRequest(InlineCompletionRequest.type, params, token);
    return Array.isArray(answer) ? answer[0] : answer?.items[0];
  } catch (error) {
    if (!token.isCancellationRequested) client.warn('the request for a completion has failed', error, false);
    return undefined;
  }
}

function suggestionOf(item: InlineCompletionItem, place: Place): Suggestion<InlineCompletionItem> {
  const id = String(item.command?.arguments?.[0]);
  const typed = item.range === undefined ? 0 : place.character - item.range.start.character;
  return new Suggestion(id, item, place, textOf(item), typed);
}

function shownItem(item: InlineCompletionItem, text: string): vscode.InlineCompletionItem {
  const { range, command } = item;
  const replaced = range && new vscode.Range(range.start.line, range.start.character, range.end.line, range.end.character);
  const accept = command && { title: command.title, command: command.command, arguments: command.arguments ?? [] };
  return new vscode.InlineCompletionItem(text, replaced, accept);
}

function textOf(item: InlineCompletionItem): string {
  return typeof item.insertText === 'string' ? item.insertText : item.insertText.value;
}

function placeOf(document: vscode.TextDocument, position: vscode.Position, context: vscode.InlineCompletionContext): Place {
  const { line, character } = position;
  return { uri: document.uri.toString(), version: document.version, line, character, selected: context.selectedCompletionInfo?.text ?? '' };
}
