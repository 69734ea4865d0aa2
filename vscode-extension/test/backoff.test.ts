import assert from 'node:assert/strict';
import test from 'node:test';
import { Backoff } from '../src/backoff';

test('at once, then twice as long each time, up to a minute', () => {
  const backoff = new Backoff();
  const delays = Array.from({ length: 10 }, () => backoff.delayMs(10));
  assert.deepEqual(delays, [0, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
});

test('one that ran for long, or was asked for, starts at once again', () => {
  const backoff = new Backoff();
  for (let i = 0; i < 5; i++) backoff.delayMs(10);
  assert.equal(backoff.delayMs(60_000), 0);
  assert.equal(backoff.delayMs(10), 500);
  backoff.reset();
  assert.equal(backoff.delayMs(10), 0);
});
