/** What completer says beyond the Language Server Protocol, as lsp/protocol.py has it. Lengths are in UTF-16 units. */

export const DID_FOCUS = 'textDocument/didFocus';
export const DID_PARTIALLY_ACCEPT = 'textDocument/didPartiallyAcceptCompletion';
export const DID_REJECT = 'completer/didRejectCompletion';
export const SNOOZE = 'completer/snooze';
export const CHUNK = 'completer/inlineCompletionChunk';
export const STATUS = 'completer/didChangeStatus';
export const ACCEPT_COMMAND = 'completer.accept';

export interface Chunk {
  readonly id: string;
  readonly uri: string;
  /** All of the item, so far. */
  readonly insertText: string;
  readonly done: boolean;
}

export interface Status {
  readonly busy: boolean;
  readonly kind: 'Normal' | 'Warning' | 'Error' | 'Inactive';
  readonly message: string;
  /** The command line that mends it, `completer models pull NAME` for one. */
  readonly command: string | null;
  readonly source: string | null;
  readonly k: number | null;
  /** Of the drafted tokens, the share that the target accepted. */
  readonly acceptance: number | null;
  readonly tokens_per_s: number | null;
}

/** What an editor may choose for itself: lsp/options.py. */
export interface Options {
  readonly streaming: boolean;
  readonly automatic: boolean;
  readonly single_line: boolean;
  readonly max_lines: number;
}
