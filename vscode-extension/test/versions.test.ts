import assert from 'node:assert/strict';
import test from 'node:test';
import { mismatch } from '../src/versions';

test('major and minor belong together', () => {
  assert.equal(mismatch('0.1.0', '0.1.0'), undefined);
  assert.equal(mismatch('0.1.0', '0.1.7'), undefined);
  assert.match(mismatch('0.1.0', '0.2.0') ?? '', /version 0\.2\.0.*0\.1\.0/);
  assert.match(mismatch('0.1.0', '1.1.0') ?? '', /version 1\.1\.0/);
  assert.match(mismatch('0.1.0', undefined) ?? '', /does not say/);
});
