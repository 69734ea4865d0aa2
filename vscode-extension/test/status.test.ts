import assert from 'node:assert/strict';
import test from 'node:test';
import type { Status } from '../src/protocol';
import { display } from '../src/status';

const READY: Status = { busy: false, kind: 'Normal', message: 'ready', command: null, source: null, k: 8, acceptance: null, tokens_per_s: null };

test('ready, before there is anything to count', () => {
  assert.equal(display({ server: READY }).text, '$(check) completer');
});

test('the numbers of the last completion', () => {
  const shown = display({ server: { ...READY, source: 'ngram', acceptance: 0.754, tokens_per_s: 49.6 } });
  assert.equal(shown.text, '$(check) completer · ngram k 8 · 75 % · 50 tok/s');
  assert.match(shown.tooltip, /75 % of the drafted tokens accepted by the model/);
});

test('plain decoding is named as such', () => {
  assert.equal(display({ server: { ...READY, tokens_per_s: 20 } }).text, '$(check) completer · plain · 20 tok/s');
});

test('errors are red and say what to do; whatever else is wrong has a sign of its own', () => {
  const error = display({ server: { ...READY, kind: 'Error', message: 'run completer models pull' } });
  assert.deepEqual(error, { text: '$(error) completer', tooltip: 'run completer models pull', isError: true });
  assert.equal(display({ server: { ...READY, kind: 'Warning' } }).text, '$(warning) completer');
  assert.equal(display({ server: { ...READY, kind: 'Inactive' } }).text, '$(circle-slash) completer');
  assert.equal(display({ server: { ...READY, busy: true } }).text, '$(loading~spin) completer');
});

test('our own word, where the server has none', () => {
  assert.deepEqual(display({ failed: 'it has ended' }), { text: '$(error) completer', tooltip: 'it has ended', isError: true });
  assert.equal(display({ starting: 'starting' }).text, '$(loading~spin) completer');
  assert.equal(display({ off: 'off here' }).text, '$(circle-slash) completer');
});
