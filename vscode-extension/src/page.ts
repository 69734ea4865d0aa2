/** The statistics page, made fit for a panel of the editor. Pure. */

/** Nothing runs in it and nothing is fetched for it; the colours follow the editor's theme. */
export function pageForPanel(html: string, isDark: boolean): string {
  const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">`;
  const scheme = isDark ? 'dark' : 'light';
  const colours =
    `<style>:root { color-scheme: ${scheme} } ` +
    `body { background: var(--vscode-editor-background); color: var(--vscode-editor-foreground) }</style>`;
  const own = /<meta http-equiv="Content-Security-Policy"[^>]*>/i; // it allows the styles as they were
  const themed = html.replace(own, '').replace(/@media\s*\(\s*prefers-color-scheme:\s*(dark|light)\s*\)/g, (_, wanted: string) =>
    wanted === scheme ? '@media all' : '@media not all',
  );
  const start = /<html[^>]*>/i.exec(themed);
  const inside = start === null ? 0 : start.index + start[0].length;
  return themed.slice(0, inside) + policy + themed.slice(inside) + colours;
}
