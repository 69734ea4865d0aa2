import assert from 'node:assert/strict';
import test from 'node:test';
import { pageForPanel } from '../src/page';

const PAGE = '<!DOCTYPE html><html><head lang="en"><style>p { color: red } @media (prefers-color-scheme: dark) { p { color: pink } }</style></head><body><p>hello</p></body></html>';

test('nothing is fetched and nothing runs: the policy comes before all else', () => {
  const page = pageForPanel(PAGE, true);
  assert.match(page, /^<!DOCTYPE html><html><meta http-equiv="Content-Security-Policy" content="default-src 'none'/);
  assert.match(page, /<p>hello<\/p>/);
});

test('the colours follow the theme of the editor, not of the system', () => {
  assert.match(pageForPanel(PAGE, true), /color-scheme: dark.*$/);
  assert.match(pageForPanel(PAGE, true), /@media all \{ p \{ color: pink/);
  assert.match(pageForPanel(PAGE, false), /@media not all \{ p \{ color: pink/);
});

test('a page without much around it is fine, too', () => {
  assert.match(pageForPanel('<p>hello</p>', false), /^<meta http-equiv="Content-Security-Policy".*><p>hello<\/p><style>/);
});

test("the page's own policy, which allows only its own styles, gives way", () => {
  const own = `<html><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-x'"><p>`;
  assert.doesNotMatch(pageForPanel(own, true), /sha256/);
});
