/** The connection to the program: starts it, tells how it goes, starts it again with growing pauses when it ends. */

import type * as vscode from 'vscode';
import { State } from 'vscode-languageclient/node';
import { Backoff } from './backoff';
import type { Launch } from './client';
import { Client } from './client';
import type { Chunk, Status } from './protocol';
import { CHUNK } from './protocol';

export interface Listener {
  starting(): void;
  /** It says so; this may be before it has started. */
  status(status: Status): void;
  /** More of a suggestion. */
  chunk(chunk: Chunk): void;
  started(client: Client): void;
  failed(message: string): void;
}

export class Server implements vscode.Disposable {
  private current: Client | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly backoff = new Backoff();

  /** launch: what to start; undefined where there is nothing to start, which whoever says so has told the user. */
  constructor(
    private readonly launch: () => Launch | undefined,
    private readonly listener: Listener,
    private readonly channel: vscode.LogOutputChannel,
  ) {}

  /** Once it runs. */
  get client(): Client | undefined {
    return this.current?.state === State.Running ? this.current : undefined;
  }

  async start(): Promise<void> {
    const launch = this.launch();
    if (launch === undefined) return;
    const client: Client = new Client(launch, this.channel, (status) => {
      if (client === this.current) this.listener.status(status);
    });
    client.onNotification(CHUNK, (chunk: Chunk) => {
      this.listener.chunk(chunk);
    });
    const begunMs = Date.now();
    this.current = client;
    this.listener.starting();
    client.onDidChangeState((change) => {
      if (change.newState === State.Stopped && change.oldState === State.Running) this.ended(client, begunMs, 'the program has ended');
    });
    try {
      await client.start();
      if (client === this.current) this.listener.started(client);
    } catch (error) {
      this.ended(client, begunMs, `${launch.program} cannot be started: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  async stop(): Promise<void> {
    clearTimeout(this.timer);
    const client = this.current;
    this.current = undefined;
    try {
      await client?.dispose();
    } catch (error) {
      this.channel.info(`the program did not end as asked: ${String(error)}`); // it is gone: it had crashed or never started
    }
  }

  async restart(): Promise<void> {
    await this.stop();
    this.backoff.reset();
    await this.start();
  }

  dispose(): Promise<void> {
    return this.stop();
  }

  private ended(client: Client, begunMs: number, reason: string): void {
    if (client !== this.current) return;
    this.current = undefined;
    const delayMs = this.backoff.delayMs(Date.now() - begunMs);
    this.channel.warn(`${reason}; starting it again in ${delayMs} ms`);
    this.listener.failed(`${reason}; it is started again${delayMs === 0 ? '' : ` in ${delayMs / 1000} s`}`);
    this.timer = setTimeout(() => void this.start(), delayMs);
  }
}
