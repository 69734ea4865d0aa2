/** The statistics page, made fit for a panel of the editor. Pure. */

/** Nothing runs in it and nothing is fetched for it; the colours follow the editor's theme. */
export function pageForPanel(html: string, isDark: boolean): string {
  const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">`;
  const scheme = isDark ? 'dark' : 'light';
  const colours =
    `<meta name="color-scheme" content="${scheme}">` +
    `<style>:root { color-scheme: ${scheme} } body { background: var(--vscode-editor-background); color: var(--vscode-editor-foreground) }</style>`;
  const themed = html.replace(/@media\s*\(\s*prefers-color-scheme:\s*(dark|light)\s*\)/g, (_, wanted: string) =>
    wanted === scheme ? '@media all' : '@media not all',
  );
  const start = /<head[^>]*>/i.exec(themed);
  if (start === null) return `<!DOCTYPE html><html><head>${policy}${colours}</head><body>${themed}</body></html>`;
  const inside = start.index + start[0].length;
  const end = /<\/head>/i.exec(themed)?.index ?? inside;
  return themed.slice(0, inside) + policy + themed.slice(inside, end) + colours + themed.slice(end);
}
