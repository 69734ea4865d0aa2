// Drives a VS Code workbench in Chromium, as the user's hands and eyes. node driver.mjs FOLDER_OF_PLAYWRIGHT
// A command a line on standard input, {"command": NAME, ...}; a line back for each, {"result": ...} or {"error": TEXT}.
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const { chromium } = createRequire(join(process.argv[2], 'package.json'))('playwright-core');
const TIMEOUT_MS = 60_000;
const profile = mkdtempSync(join(tmpdir(), 'completer-browser-'));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: '/usr/bin/chromium',
  headless: true,
  viewport: { width: 1280, height: 720 },
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const page = context.pages()[0];
page.setDefaultTimeout(TIMEOUT_MS);
const strangers = new Set();
page.on('request', (request) => {
  const host = new URL(request.url()).hostname;
  if (!['127.0.0.1', 'localhost', ''].includes(host)) strangers.add(host);
});

// What is grey in the editor: the rest of the cursor's line, and the lines below it that are not in the document.
await context.addInitScript(() => {
  const text = (element) => element.textContent.replaceAll('\u00a0', ' ').replaceAll('\u200b', '');
  const top = (element) => element.getBoundingClientRect().top;
  globalThis.ghostText = () => {
    const inline = [...document.querySelectorAll('.view-lines .ghost-text-decoration, .view-lines .ghost-text-decoration-preview, .view-lines .ghost-text')];
    const below = [...document.querySelectorAll('.suggest-preview-text .view-line')].sort((a, b) => top(a) - top(b));
    return [inline.map(text).join(''), ...below.map(text)].join('\n');
  };
  globalThis.statusText = () => {
    const items = [...document.querySelectorAll('.statusbar-item a')];
    const ours = items.find((item) => item.getAttribute('aria-label')?.includes('completer'));
    return ours === undefined ? '' : `${ours.getAttribute('aria-label')} | ${ours.textContent}`;
  };
});

const editor = () => page.locator('.editor-instance .monaco-editor').first();

const commands = {
  go: async ({ url }) => {
    await page.goto(url, { waitUntil: 'domcontentloaded' });
    await page.locator('.explorer-folders-view').waitFor();
  },
  open: async ({ file }) => {
    await page.locator('.explorer-folders-view .monaco-list-row', { hasText: file }).first().dblclick();
    await page.locator(`.tab.active[data-resource-name="${file}"]`).waitFor();
    await editor().locator('.view-lines').click();
    await page.keyboard.press('Control+End');
  },
  type: ({ text, delay = 15 }) => page.keyboard.type(text, { delay }),
  press: ({ key }) => page.keyboard.press(key),
  ghost: () => page.evaluate(() => globalThis.ghostText()),
  // Until it is what is expected; else what it is.
  wait_ghost: async ({ text }) => {
    const handle = await page.waitForFunction((expected) => globalThis.ghostText() === expected, text, { polling: 'raf' }).catch(() => null);
    return handle === null ? page.evaluate(() => globalThis.ghostText()) : text;
  },
  // From now on, what is grey in every frame, and since when.
  watch: () =>
    page.evaluate(() => {
      const frames = (globalThis.frames_seen = []);
      const look = () => {
        if (globalThis.frames_seen !== frames) return;
        const shown = globalThis.ghostText();
        if (frames.at(-1)?.[0] !== shown) frames.push([shown, Date.now()]);
        requestAnimationFrame(look);
      };
      look();
    }),
  watched: () =>
    page.evaluate(() => {
      const frames = globalThis.frames_seen;
      globalThis.frames_seen = undefined;
      return frames;
    }),
  lines: () =>
    editor()
      .locator('.view-lines .view-line')
      .evaluateAll((lines) =>
        lines
          .sort((a, b) => parseFloat(a.style.top) - parseFloat(b.style.top))
          .map((line) => line.textContent.replaceAll('\u00a0', ' ')),
      ),
  // Until what the status bar says of completer has the pattern in it; else what it says.
  wait_status: async ({ pattern }) => {
    const matches = (wanted) => new RegExp(wanted).test(globalThis.statusText());
    await page.waitForFunction(matches, pattern, { polling: 'raf' }).catch(() => null);
    return page.evaluate(() => globalThis.statusText());
  },
  palette: async ({ title }) => {
    await page.keyboard.press('F1');
    await page.locator('.quick-input-widget input').first().fill(`>${title}`);
    await page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first().click();
  },
  pick: ({ label }) => page.locator('.quick-input-list .monaco-list-row', { hasText: label }).first().click(),
  click: ({ selector }) => page.locator(selector).first().click(),
  wait: ({ selector }) => page.locator(selector).first().waitFor(),
  texts: ({ selector }) => page.locator(selector).allTextContents(),
  notifications: () => page.locator('.notification-list-item-message').allTextContents(),
  // Of pages within the page: what they say, and on which colour.
  frames: async () => {
    const look = () => [document.body.innerText, globalThis.getComputedStyle(document.body).backgroundColor];
    const seen = await Promise.all(page.frames().map((frame) => frame.evaluate(look).catch(() => null)));
    return seen.filter((one) => one !== null);
  },
  screenshot: ({ file }) => page.screenshot({ path: file }).then(() => null),
  dump: ({ selector }) => page.locator(selector).evaluateAll((all) => all.map((one) => one.outerHTML.slice(0, 3000))),
  strangers: () => [...strangers],
};

try {
  for await (const line of createInterface({ input: process.stdin })) {
    const { command, ...given } = JSON.parse(line);
    const answer = await Promise.resolve()
      .then(() => commands[command](given))
      .then((result) => ({ result: result ?? null }))
      .catch((error) => ({ error: String(error).slice(0, 2000) }));
    console.log(JSON.stringify(answer));
  }
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
