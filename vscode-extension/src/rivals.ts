/** Other extensions that show ghost text. Both at once get in each other's way, which is said once. */

import * as vscode from 'vscode';

const RIVALS = [
  'GitHub.copilot',
  'GitHub.copilot-chat',
  'AmazonWebServices.amazon-q-vscode',
  'Codeium.codeium',
  'Continue.continue',
  'ggml-org.llama-vscode',
  'GitLab.gitlab-workflow',
  'HuggingFace.huggingface-vscode',
  'rjmacarthy.twinny',
  'sourcegraph.cody-ai',
  'Supermaven.supermaven',
  'TabbyML.vscode-tabby',
  'TabNine.tabnine-vscode',
  'VisualStudioExptTeam.vscodeintellicode-completions',
];

export async function nameRivals(memory: vscode.Memento): Promise<void> {
  const found = RIVALS.map((id) => vscode.extensions.getExtension(id)).filter((extension) => extension !== undefined);
  const news = found.filter((extension) => !memory.get<boolean>(`rival ${extension.id}`, false));
  if (news.length === 0) return;
  for (const extension of news) await memory.update(`rival ${extension.id}`, true);
  const names = news.map((extension) => nameOf(extension)).join(', ');
  void vscode.window.showInformationMessage(`completer: ${names} may suggest inline, too. The editor shows one of the suggestions; turn one of the two off.`);
}

function nameOf(extension: vscode.Extension<unknown>): string {
  const manifest = extension.packageJSON as { displayName?: string };
  return manifest.displayName ?? extension.id;
}
