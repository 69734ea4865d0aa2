import assert from 'node:assert/strict';
import test from 'node:test';
import { isSamePlace, Suggestion } from '../src/suggestion';

const PLACE = { uri: 'file:///a.py', version: 3, line: 1, character: 4, selected: '' };

function suggestion(text: string, typed = 0): Suggestion<string> {
  return new Suggestion('1', 'item', PLACE, text, typed);
}

test('it grows by what goes on from it, and by nothing else', () => {
  const growing = suggestion('return a');
  assert.equal(growing.grow('return a + b', false), true);
  assert.equal(growing.grow('return a', false), false);
  assert.equal(growing.grow('something else, and longer', false), false);
  assert.equal(growing.text, 'return a + b');
});

test('the last chunk ends it, even when it adds nothing', async () => {
  const growing = suggestion('x');
  const ended = growing.ended();
  assert.equal(growing.grow('x', true), false);
  assert.equal(growing.isDone, true);
  await ended;
});

test('a word or a line put in at once is accepted; typing is not', () => {
  const shown = suggestion('return a + b\n    pass');
  assert.equal(shown.acceptedBy('return'), 6);
  assert.equal(shown.acceptedBy('return a + b'), 12);
  assert.equal(shown.acceptedBy('r'), 0);
  assert.equal(shown.acceptedBy('other'), 0);
});

test('the end of a line with its indentation is typing', () => {
  assert.equal(suggestion('\n    return').acceptedBy('\n    '), 0);
});

test('all of it is what the accept command reports', () => {
  assert.equal(suggestion('return a').acceptedBy('return a'), 0);
});

test('all of what the editor has got is all of it, though more has arrived since', () => {
  const shown = suggestion('return a');
  shown.give();
  shown.grow('return a + b', true);
  assert.equal(shown.acceptedBy('return a'), 0);
  assert.equal(shown.acceptedBy('return'), 6);
});

test('what is accepted counts from the beginning of the item, which what is typed belongs to', () => {
  const shown = suggestion('console.log(a)', 3);
  assert.equal(shown.acceptedBy('sole'), 7);
  assert.equal(shown.typeThrough('sole'), true);
  assert.equal(shown.acceptedBy('.log'), 11);
  assert.equal(shown.typeThrough('x'), false);
});

test('it is typed through to its end', () => {
  const shown = suggestion('ab');
  assert.equal(shown.typeThrough('a'), true);
  assert.equal(shown.typeThrough('b'), true, 'more of it may come');
  shown.end();
  assert.equal(suggestion('ab').typeThrough('abc'), false);
});

test('a place is one version of a document', () => {
  assert.equal(isSamePlace(PLACE, { ...PLACE }), true);
  for (const other of [{ uri: 'file:///b.py' }, { version: 4 }, { line: 2 }, { character: 5 }, { selected: 'print' }]) {
    assert.equal(isSamePlace(PLACE, { ...PLACE, ...other }), false);
  }
});
