"""Editors without inline completion get suggestions in their completion popup."""

import pytest
from lsprotocol import types

from tests.editor import within

pytestmark = pytest.mark.asyncio
URI = "file:///project/a.py"


async def ask(editor) -> list[types.CompletionItem]:
    params = types.CompletionParams(types.TextDocumentIdentifier(URI), types.Position(*editor.end(URI)))
    result = await within(editor.client.text_document_completion_async(params))
    assert result.is_incomplete
    return list(result.items)


async def test_textdocument_completion_for_clients_without_inline_completion(start_editor, script):
    script.write(writes="é = 'é'; result = 1\nprint(result)\n")
    editor = await start_editor()
    completion = types.CompletionClientCapabilities()
    text_document = types.TextDocumentClientCapabilities(completion=completion)
    answer = await editor.initialize(capabilities=types.ClientCapabilities(text_document=text_document))
    assert answer.capabilities.completion_provider is not None
    await editor.has_status(message="ready", busy=False)
    editor.open(URI, "é = 'é'; resu")
    (item,) = await ask(editor)
    assert (item.label, item.filter_text[:6]) == ("result = 1", "result")
    assert item.text_edit.range == types.Range(types.Position(0, 9), types.Position(0, 13))
    assert item.text_edit.new_text.startswith("result = 1\nprint(")
    assert item.command.command == "completer.accept"


async def test_off_by_default_where_inline_completion_is_supported(start_editor, script):
    editor = await start_editor()
    answer = await editor.initialize()
    assert answer.capabilities.completion_provider is None


async def test_on_where_the_editor_wants_both(start_editor, script):
    editor = await start_editor()
    answer = await editor.initialize(popup=True)
    assert answer.capabilities.completion_provider is not None
    assert answer.capabilities.inline_completion_provider is not None
