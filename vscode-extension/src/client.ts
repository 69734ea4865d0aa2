/** The language client, told what this editor can, without its own provider of inline completions: a key asks once. */

import * as os from 'node:os';
import * as vscode from 'vscode';
import type { ClientCapabilities, DynamicFeature, StaticFeature } from 'vscode-languageclient/node';
import { CloseAction, ErrorAction, InlineCompletionRequest, LanguageClient, Message, RevealOutputChannelOn } from 'vscode-languageclient/node';
import type { Options, Status } from './protocol';
import { STATUS } from './protocol';

/** Documents on a disk, without a file, and the cells of notebooks; on a remote machine these are that machine's. */
export const SELECTOR = ['file', 'untitled', 'vscode-notebook-cell'].map((scheme) => ({ scheme }));

export interface Launch {
  readonly program: string;
  readonly configFile: string;
  readonly options: Options;
}

export class Client extends LanguageClient {
  /** tell: of a status, which may come before the connection is up: why it is not, for one. */
  constructor(launch: Launch, channel: vscode.LogOutputChannel, tell: (status: Status) => void) {
    const args = [...(launch.configFile === '' ? [] : ['--config', launch.configFile]), 'lsp'];
    // Not in the workspace, whose files have no say in what happens.
    const executable = { command: launch.program, args, options: { cwd: os.homedir() } };
    super('completer', 'completer', executable, {
      documentSelector: SELECTOR,
      initializationOptions: launch.options,
      outputChannel: channel,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      connectionOptions: {
        messageStrategy: {
          handleMessage: (message, next) => {
            if (!Message.isNotification(message) || message.method !== STATUS) return next(message);
            tell(message.params as unknown as Status);
            return undefined;
          },
        },
      },
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
      },
    });
    super.registerFeature(new InlineCompletionCapability());
  }

  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    const isTheirs = 'registrationType' in feature && feature.registrationType.method === InlineCompletionRequest.method;
    if (!isTheirs) super.registerFeature(feature);
  }
}

class InlineCompletionCapability implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    capabilities.textDocument = { ...capabilities.textDocument, inlineCompletion: { dynamicRegistration: false } };
  }

  initialize(): void {
    return;
  }

  getState(): { kind: 'static' } {
    return { kind: 'static' };
  }

  clear(): void {
    return;
  }
}
