/** What the status bar says, from what the server says. Pure. */

import type { Status } from './protocol';

/** How things stand with us, before or instead of the server's word. */
export type State = { readonly server: Status } | { readonly starting: string } | { readonly off: string } | { readonly failed: string };

export interface Display {
  readonly text: string;
  readonly tooltip: string;
  readonly isError: boolean;
}

export function display(state: State): Display {
  if ('starting' in state) return plain('$(loading~spin) completer', state.starting);
  if ('off' in state) return plain('$(circle-slash) completer', state.off);
  if ('failed' in state) return { ...plain('$(error) completer', state.failed), isError: true };
  const status = state.server;
  if (status.kind === 'Error') return { ...plain('$(error) completer', status.message), isError: true };
  if (status.kind === 'Warning') return plain('$(warning) completer', status.message);
  if (status.kind === 'Inactive') return plain('$(circle-slash) completer', status.message);
  if (status.busy) return plain('$(loading~spin) completer', status.message);
  return { text: ['$(check) completer', ...numbers(status)].join(' · '), tooltip: tooltip(status), isError: false };
}

function plain(text: string, message: string): Display {
  return { text, tooltip: message, isError: false };
}

function numbers(status: Status): string[] {
  if (status.tokens_per_s === null) return [];
  const draft = status.source === null || status.k === null ? 'plain' : `${status.source} k ${status.k}`;
  return [draft, ...(status.acceptance === null ? [] : [percent(status.acceptance)]), `${Math.round(status.tokens_per_s)} tok/s`];
}

function tooltip(status: Status): string {
  const lines = [status.message];
  if (status.k !== null) lines.push(`at most ${status.k} tokens drafted a round`);
  if (status.source !== null) lines.push(`last drafts from ${status.source}`);
  if (status.acceptance !== null) lines.push(`${percent(status.acceptance)} of the drafted tokens accepted by the model`);
  if (status.tokens_per_s !== null) lines.push(`${Math.round(status.tokens_per_s)} tokens a second`);
  return lines.join('\n\n');
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
