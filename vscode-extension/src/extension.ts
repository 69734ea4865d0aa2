/** The composition root: builds the parts and ties them together. */

import * as os from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { DidChangeConfigurationNotification } from 'vscode-languageclient/node';
import type { Client, Launch } from './client';
import { Feedback } from './feedback';
import { carriedWheel, install } from './installation';
import { showMenu } from './menu';
import { run } from './program';
import type { Chunk, Status } from './protocol';
import { DID_FOCUS, SNOOZE } from './protocol';
import { Provider } from './provider';
import { nameRivals } from './rivals';
import { Server } from './server';
import { findServer } from './server_path';
import * as settings from './settings';
import { Snooze } from './snooze';
import { Statistics } from './statistics';
import { StatusItem } from './status_item';
import { mismatch } from './versions';

export function activate(context: vscode.ExtensionContext): void {
  const extension = new Extension(context);
  context.subscriptions.push(extension);
  void extension.start();
}

class Extension implements vscode.Disposable {
  private readonly channel = vscode.window.createOutputChannel('completer', { log: true });
  private readonly statusItem = new StatusItem();
  private readonly server: Server;
  private readonly feedback: Feedback;
  private readonly provider: Provider;
  private readonly snooze: Snooze;
  private readonly statistics: Statistics;
  private readonly environment: string;
  private readonly version: string;
  private readonly subscriptions: vscode.Disposable[] = [];
  private hasOffered = false;

  constructor(private readonly context: vscode.ExtensionContext) {
    const manifest = context.extension.packageJSON as { version: string };
    this.version = manifest.version;
    this.environment = path.join(context.globalStorageUri.fsPath, 'environment');
    this.server = new Server(() => this.launch(), this, this.channel);
    const send = (method: string, params: object): void => {
      void this.server.client?.sendNotification(method, params);
    };
    this.feedback = new Feedback(send);
    this.provider = new Provider(context.extension.id, () => this.server.client, this.feedback);
    this.snooze = new Snooze((minutes) => {
      send(SNOOZE, { minutes });
    });
    this.statistics = new Statistics(() => this.program(), context.globalStorageUri.fsPath, this.channel);
    this.register();
  }

  async start(): Promise<void> {
    await this.server.start();
    await nameRivals(this.context.globalState);
  }

  starting(): void {
    this.statusItem.set({ starting: 'starting' });
  }

  status(status: Status): void {
    this.statusItem.set({ server: status });
  }

  chunk(chunk: Chunk): void {
    this.provider.grow(chunk);
  }

  started(client: Client): void {
    this.provider.forget();
    this.snooze.repeat();
    this.focused(vscode.window.activeTextEditor);
    const problem = mismatch(this.version, client.initializeResult?.serverInfo?.version);
    if (problem !== undefined) void this.offer(`completer: ${problem}`, 'Install the matching program');
  }

  failed(message: string): void {
    this.provider.forget();
    this.statusItem.set({ failed: message });
  }

  async dispose(): Promise<void> {
    for (const subscription of [...this.subscriptions, this.provider, this.feedback, this.statistics, this.statusItem]) subscription.dispose();
    await this.server.dispose();
    this.channel.dispose();
  }

  private register(): void {
    const commands: Record<string, () => unknown> = {
      menu: () => showMenu(this.statusItem.remedy, this.snooze.isOn),
      mend: () => {
        this.mend();
      },
      trigger: () => vscode.commands.executeCommand('editor.action.inlineSuggest.trigger'),
      dismiss: () => {
        this.provider.dismiss();
        return vscode.commands.executeCommand('editor.action.inlineSuggest.hide');
      },
      toggleLanguage: () => this.toggleLanguage(),
      toggleFolder: () => this.toggleFolder(),
      snooze: () => this.snooze.ask(),
      wake: () => {
        this.snooze.wake();
      },
      statistics: () => this.statistics.show(),
      why: () => this.statistics.why(vscode.window.activeTextEditor?.document),
      logs: () => this.statistics.logs(),
      restart: () => this.restart(),
      install: () => this.install(),
    };
    for (const [name, run] of Object.entries(commands)) this.subscriptions.push(vscode.commands.registerCommand(`completer.${name}`, run));
    this.subscriptions.push(
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        this.focused(editor);
      }),
      vscode.workspace.onDidChangeConfiguration((event) => {
        void this.configured(event);
      }),
    );
  }

  /** The status is about the document that the user is in, whatever else is open. */
  private focused(editor: vscode.TextEditor | undefined): void {
    const client = this.server.client;
    if (client === undefined || editor === undefined) return;
    const uri = client.code2ProtocolConverter.asUri(editor.document.uri);
    void client.sendNotification(DID_FOCUS, { textDocument: { uri } });
  }

  private program(): string | undefined {
    const found = findServer(settings.serverPath(), this.environment, settings.machine());
    return found !== undefined && 'program' in found ? found.program : undefined;
  }

  /** What to start. Where there is nothing, the user is told, and offered the wheel that came with the extension. */
  private launch(): Launch | undefined {
    const found = findServer(settings.serverPath(), this.environment, settings.machine());
    if (found !== undefined && 'program' in found) {
      this.channel.info(`the program is ${found.program}`);
      return { program: found.program, configFile: settings.configFile(), options: settings.options() };
    }
    const problem = found?.problem ?? 'the program is not installed';
    this.statusItem.set({ failed: problem });
    void this.offer(`completer: ${problem}`, 'Install');
    return undefined;
  }

  private async offer(message: string, action: string): Promise<void> {
    if (this.hasOffered) return;
    this.hasOffered = true;
    const answer = await vscode.window.showWarningMessage(message, action, 'Settings');
    if (answer === action) await this.install();
    if (answer === 'Settings') await vscode.commands.executeCommand('workbench.action.openSettings', 'completer.serverPath');
  }

  private async configured(event: vscode.ConfigurationChangeEvent): Promise<void> {
    if (['serverPath', 'configFile'].some((name) => event.affectsConfiguration(`completer.${name}`))) await this.server.restart();
    else if (event.affectsConfiguration('completer')) {
      await this.server.client?.sendNotification(DidChangeConfigurationNotification.type, { settings: { completer: settings.options() } });
    }
  }

  /** In a terminal, where the user sees what it does. */
  private mend(): void {
    const program = this.program();
    const [name, ...shellArgs] = this.statusItem.remedy?.split(' ') ?? [];
    if (program === undefined || name !== 'completer') return;
    vscode.window.createTerminal({ name, shellPath: program, shellArgs, cwd: os.homedir() }).show();
  }

  private async toggleLanguage(): Promise<void> {
    const document = vscode.window.activeTextEditor?.document;
    if (document !== undefined) await settings.setLanguage(document, !settings.isEnabled(document));
  }

  private async toggleFolder(): Promise<void> {
    const document = vscode.window.activeTextEditor?.document;
    const folder = document && vscode.workspace.getWorkspaceFolder(document.uri);
    if (document !== undefined && folder !== undefined) await settings.setFolder(folder, document, !settings.isEnabled(document));
  }

  /** The daemon, too: other windows notice no more than a missing suggestion. */
  private async restart(): Promise<void> {
    const program = this.program();
    await this.server.stop();
    if (program !== undefined) await run(program, ['daemon', 'stop']);
    this.hasOffered = false;
    await this.server.restart();
  }

  private async install(): Promise<void> {
    const wheel = await carriedWheel(this.context.asAbsolutePath('wheel'));
    if (wheel === undefined) {
      void vscode.window.showErrorMessage('completer: this extension was packaged without the program; its README says how to install it');
      return;
    }
    const detail = `${path.basename(wheel)} and what it needs, PyTorch among it, go into an environment of their own: ${this.environment}. pip fetches what is missing.`;
    const answer = await vscode.window.showInformationMessage('Install completer?', { modal: true, detail }, 'Install');
    if (answer !== 'Install') return;
    this.statusItem.set({ starting: 'installing the program' });
    try {
      await this.server.stop();
      await this.use(await this.installed(wheel));
    } catch (error) {
      this.failed(error instanceof Error ? error.message : String(error));
      void vscode.window.showErrorMessage(`completer: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  private installed(wheel: string): Thenable<string> {
    const options = { location: vscode.ProgressLocation.Notification, title: 'completer: installing the program', cancellable: true };
    return vscode.window.withProgress(options, (_, token) => {
      const abort = new AbortController();
      token.onCancellationRequested(() => {
        abort.abort();
      });
      return install(wheel, this.environment, settings.machine(), (program, args) => {
        this.channel.info(`${program} ${args.join(' ')}`);
        return run(program, args, abort.signal);
      });
    });
  }

  /** Where another one would be found first, the setting says from now on which one is meant. */
  private async use(program: string): Promise<void> {
    if (this.program() !== program) {
      await vscode.workspace.getConfiguration('completer').update('serverPath', program, vscode.ConfigurationTarget.Global);
    }
    await this.server.restart();
  }
}
