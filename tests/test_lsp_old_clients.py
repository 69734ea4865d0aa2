"""Editors without inline completion get suggestions in their completion popup."""

import asyncio
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcRequestCancelled

from tests.editor import AUTOMATIC, Editor, until, within

pytestmark = pytest.mark.asyncio
URI = "file:///project/a.py"
BEGIN = "def total(items):\n    "
WHOLE = "def total(items):\n    result = 0\n    for item in items:\n        result += item.price\n    return result\n"


def ask(editor: Editor) -> Any:
    params = types.CompletionParams(types.TextDocumentIdentifier(URI), types.Position(*editor.end(URI)))
    return editor.client.text_document_completion_async(params)


async def test_textdocument_completion_for_clients_without_inline_completion(start_editor, script):
    script.write(writes="é = 'é'; result = 1\nprint(result)\n")
    editor = await start_editor()
    completion = types.CompletionClientCapabilities()
    text_document = types.TextDocumentClientCapabilities(completion=completion)
    answer = await editor.initialize(capabilities=types.ClientCapabilities(text_document=text_document))
    assert answer.capabilities.completion_provider is not None
    await editor.has_status(message="ready", busy=False)
    editor.open(URI, "é = 'é'; resu")
    result = await within(ask(editor))
    assert result.is_incomplete
    (item,) = result.items
    assert (item.label, item.filter_text) == ("result = 1", "result = 1")
    assert item.text_edit == types.TextEdit(types.Range(types.Position(0, 9), types.Position(0, 13)), "result = 1")
    assert item.command.command == "completer.accept"


async def test_a_popup_gets_all_of_it_at_once_as_nothing_can_be_added_later(start_editor, script):
    script.write(writes=WHOLE, chunk=12)
    editor = await start_editor()
    await editor.initialize(popup=True, streaming=True)
    await editor.has_status(message="ready", busy=False)
    editor.open(URI, BEGIN)
    (item,) = (await within(ask(editor))).items
    assert (item.label, item.text_edit.new_text) == ("result = 0", WHOLE[len(BEGIN) :].rstrip())
    assert editor.chunks == []


async def test_off_by_default_where_inline_completion_is_supported(start_editor, script):
    editor = await start_editor()
    answer = await editor.initialize()
    assert answer.capabilities.completion_provider is None


async def test_on_where_the_editor_wants_both(start_editor, script):
    editor = await start_editor()
    answer = await editor.initialize(popup=True)
    assert answer.capabilities.completion_provider is not None
    assert answer.capabilities.inline_completion_provider is not None


@pytest.mark.parametrize("popup_is_first", [False, True], ids=["ghost text first", "popup first"])
async def test_where_the_editor_wants_both_one_completion_answers_both(start_editor, script, popup_is_first):
    script.write(writes=WHOLE, pace="steps")
    editor = await start_editor()
    await editor.initialize(popup=True)
    await editor.has_status(message="ready", busy=False)
    editor.open(URI, BEGIN)
    asked = [lambda: editor.ask(URI, trigger=AUTOMATIC), lambda: ask(editor)]
    requests = [asyncio.ensure_future(each()) for each in (reversed(asked) if popup_is_first else asked)]
    script.allow(100)
    items = [item for each in requests for item in (await within(each)).items]
    assert [item.insert_text or item.text_edit.new_text for item in items] == [WHOLE[len(BEGIN) :].rstrip()] * 2
    assert len([call for call in script.calls() if not call["background"]]) == 1


async def test_taking_back_the_popup_s_request_leaves_the_ghost_text_alone(start_editor, script):
    script.write(writes=WHOLE, pace="steps")
    editor = await start_editor()
    await editor.initialize(popup=True)
    await editor.has_status(message="ready", busy=False)
    editor.open(URI, BEGIN)
    ghost_text = editor.ask(URI)
    await until(lambda: script.count("begun") == 1)
    params = types.CompletionParams(types.TextDocumentIdentifier(URI), types.Position(*editor.end(URI)))
    popup = editor.client.protocol.send_request(types.TEXT_DOCUMENT_COMPLETION, params, msg_id="popup")
    editor.cancel("popup")
    with pytest.raises(JsonRpcRequestCancelled):
        await within(asyncio.wrap_future(popup))
    script.allow(100)
    assert (await within(ghost_text)).items[0].insert_text == WHOLE[len(BEGIN) :].rstrip()
