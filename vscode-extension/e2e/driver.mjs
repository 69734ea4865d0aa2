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

// What is grey in the editor: the rest of the cursor's line, and the lines below it that are not in the document. It is
// looked at once a frame, when all that changes the page in it has run: the observers of sizes come last before painting.
await context.addInitScript(() => {
  const text = (element) => element.textContent.replaceAll('\u00a0', ' ').replaceAll('\u200b', '');
  const top = (element) => element.getBoundingClientRect().top;
  const ghostText = () => {
    const inline = [...document.querySelectorAll('.view-lines .ghost-text-decoration, .view-lines .ghost-text-decoration-preview, .view-lines .ghost-text')];
    const below = [...document.querySelectorAll('.suggest-preview-text .view-line')].sort((a, b) => top(a) - top(b));
    return [inline.map(text).join(''), ...below.map(text)].join('\n');
  };
  const statusText = () => {
    const items = [...document.querySelectorAll('.statusbar-item a')];
    const ours = items.find((item) => item.getAttribute('aria-label')?.includes('completer'));
    return ours === undefined ? '' : `${ours.getAttribute('aria-label')} | ${ours.textContent}`;
  };
  const waiting = new Set();
  const look = () => {
    const frame = { ghost: ghostText(), status: statusText() };
    if (globalThis.frames_seen !== undefined && globalThis.frames_seen.at(-1)?.[0] !== frame.ghost) globalThis.frames_seen.push([frame.ghost, Date.now()]);
    for (const wake of waiting) wake(frame);
  };
  globalThis.painted = (part, pattern, timeoutMs) =>
    new Promise((resolve) => {
      let last = '';
      const end = () => {
        globalThis.clearTimeout(timer);
        waiting.delete(wake);
        resolve(last);
      };
      const wake = (frame) => {
        last = frame[part];
        if (new RegExp(pattern).test(last)) end();
      };
      const timer = globalThis.setTimeout(end, timeoutMs);
      waiting.add(wake);
    });
  globalThis.addEventListener('DOMContentLoaded', () => {
    if (globalThis.top !== globalThis) return;
    const probe = document.createElement('div');
    probe.style.cssText = 'position: fixed; visibility: hidden; height: 1px; width: 1px';
    document.body.append(probe);
    new globalThis.ResizeObserver(look).observe(probe);
    const change = () => {
      probe.style.width = probe.style.width === '1px' ? '2px' : '1px';
      requestAnimationFrame(change);
    };
    change();
  });
});

// Until what is painted is what is wanted, in a frame from now on, or for too long; what is painted then.
const painted = (part, pattern) => page.evaluate((given) => globalThis.painted(...given), [part, pattern, TIMEOUT_MS]);

/** The cursor to the end of the document whose editor this is, which may not be shown yet. */
const into = async (which) => {
  const editor = page.locator(`.editor-instance .monaco-editor${which}`).first();
  await editor.locator('.view-lines').click();
  await page.locator(`.editor-instance .monaco-editor.focused${which}`).first().waitFor();
  await page.keyboard.press('Control+End');
};

const commands = {
  go: async ({ url }) => {
    await page.goto(url, { waitUntil: 'domcontentloaded' });
    await page.locator('.explorer-folders-view').waitFor();
  },
  open: async ({ file }) => {
    await page.locator('.explorer-folders-view .monaco-list-row', { hasText: file }).first().dblclick();
    await into(`[data-uri$="/${file}"]`);
  },
  into: ({ which }) => into(which),
  type: ({ text, delay = 15 }) => page.keyboard.type(text, { delay }),
  press: ({ key }) => page.keyboard.press(key),
  ghost: ({ pattern = '' }) => painted('ghost', pattern),
  wait_ghost: ({ text }) => painted('ghost', `^${text.replace(/[^\w\n ]/g, '\\$&')}$`),
  // From the next frame on, what is grey, and since when.
  watch: () => page.evaluate(() => void (globalThis.frames_seen = [])).then(() => painted('ghost', '')).then(() => null),
  watched: () =>
    page.evaluate(() => {
      const frames = globalThis.frames_seen;
      globalThis.frames_seen = undefined;
      return frames;
    }),
  // Until what the status bar says of completer has the pattern in it; else what it says.
  wait_status: ({ pattern }) => painted('status', pattern),
  palette: async ({ title }) => {
    await page.keyboard.press('F1');
    await page.locator('.quick-input-widget input').first().fill(`>${title}`);
    await page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first().click();
  },
  pick: ({ label }) => page.locator('.quick-input-list .monaco-list-row', { hasText: label }).first().click(),
  click: ({ selector }) => page.locator(selector).first().click(),
  wait: ({ selector }) => page.locator(selector).first().waitFor(),
  texts: ({ selector }) => page.locator(selector).allTextContents(),
  // Of pages within the page: what they say, and on which colour.
  frames: async () => {
    const look = () => [document.body.innerText, globalThis.getComputedStyle(document.body).backgroundColor];
    const seen = await Promise.all(page.frames().map((frame) => frame.evaluate(look).catch(() => null)));
    return seen.filter((one) => one !== null);
  },
  // Of a window narrow enough for a page of text.
  screenshot: async ({ file, height }) => {
    const size = page.viewportSize();
    await page.setViewportSize({ width: 960, height });
    await painted('ghost', '');
    await page.screenshot({ path: file });
    await page.setViewportSize(size);
  },
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
