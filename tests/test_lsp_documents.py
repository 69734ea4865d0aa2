"""Documents as they come in real life and in none: the answer is right or empty, never an error."""

import asyncio
import json
from concurrent.futures import Future

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from lsp.documents import Documents, readable
from lsp.frames import as_frame, frame
from tests.editor import within

URI = "file:///project/a.py"


@pytest.mark.asyncio
async def test_the_editor_s_buffer_not_the_file_on_disk(editor, script, tmp_path):
    file = tmp_path / "on_disk.py"
    file.write_text("from_disk = 1\n")
    script.write(otherwise="x")
    editor.open(file.as_uri(), "from_buffer = ")
    await editor.text(file.as_uri())
    assert script.calls()[0]["prefix"] == "from_buffer = "
    assert await editor.text((tmp_path / "never_opened.py").as_uri(), position=(0, 0)) is None


@pytest.mark.asyncio
async def test_crlf_comes_in_as_newlines_and_goes_out_as_crlf(editor, script):
    script.write(writes="def f():\n    a = 1\n    b = 2\n")
    editor.open(URI, "def f():\r\n    ")
    assert await editor.text(URI) == "a = 1\r\n    b = 2"
    assert script.calls()[0]["prefix"] == "def f():\n    "


@pytest.mark.asyncio
async def test_switching_between_crlf_and_lf(editor, script):
    script.write(writes="def f():\n    a = 1\n    b = 2\n")
    editor.open(URI, "def f():\r\n    ")
    await editor.text(URI)
    editor.set_text(URI, "def f():\n    ")
    assert await editor.text(URI) == "a = 1\n    b = 2"
    assert len([call for call in script.calls() if not call["background"]]) == 1


@pytest.mark.asyncio
async def test_emoji_half_characters_and_positions_outside_the_text(editor, script):
    script.write(otherwise="ok()")
    editor.open(URI, "s = '😀'\ud83d\nt = ")
    for position in [(0, 6), (0, 99), (7, 7), (1, 4)]:
        assert await editor.text(URI, position=position) == "ok()"
    prefixes = [call["prefix"] for call in script.calls() if not call["background"]]
    assert prefixes == ["s = '", "s = '😀'\ufffd", "s = '😀'\ufffd\nt = "]


@pytest.mark.asyncio
async def test_a_document_that_is_too_large_is_not_kept_and_the_status_says_so(start_editor, script, monkeypatch):
    monkeypatch.setenv("COMPLETER_SERVICE_MAX_DOCUMENT_BYTES", "2000")
    editor = await start_editor()
    await editor.initialize()
    await editor.has_status(message="ready", busy=False)
    script.write(otherwise="ok()")
    editor.open(URI, "x = " * 600)
    assert await editor.text(URI) is None
    assert "max_document_bytes" in (await editor.has_status(kind="Inactive")).message
    editor.set_text(URI, "x = ")
    assert await editor.text(URI) == "ok()"
    editor.edit(URI, (0, 0), (0, 0), "é" * 1001)
    assert await editor.text(URI, position=(0, 1)) is None


@pytest.mark.asyncio
async def test_a_line_of_a_megabyte(editor, script):
    script.write(otherwise="ok()")
    editor.open(URI, "x = '" + "é" * 500_000)
    editor.type(URI, "'")
    assert await editor.text(URI) == "ok()"


@pytest.mark.asyncio
async def test_changes_and_requests_before_didopen_and_after_didclose(editor, script):
    script.write(otherwise="ok()")
    editor.client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(2, URI), [types.TextDocumentContentChangeWholeDocument("x")]
        )
    )
    assert await editor.text(URI, position=(0, 0)) is None
    editor.close(URI)
    editor.open(URI, "x = ")
    assert await editor.text(URI) == "ok()"
    editor.close(URI)
    assert await editor.text(URI) is None


@pytest.mark.asyncio
async def test_didclose_in_the_middle_of_a_request(editor, script):
    script.write(otherwise="ok()", pace="steps")
    editor.open(URI, "x = ")
    request = editor.ask(URI)
    editor.close(URI)
    assert not (await within(request)).items
    script.allow(10)
    editor.open(URI, "x = ")
    assert await editor.text(URI) == "ok()"


@pytest.mark.asyncio
async def test_rename_is_close_and_open(editor, script):
    script.write(otherwise="ok()")
    editor.open(URI, "x = ")
    editor.close(URI)
    editor.open("file:///project/b.rs", "x = ", "rust")
    assert await editor.text("file:///project/b.rs") == "ok()"
    assert [call["language"] for call in script.calls()][:1] == ["rust"]


@pytest.mark.asyncio
async def test_unsaved_buffers(editor, script):
    script.write(otherwise="ok()")
    editor.open("untitled:Untitled-1", "x = ")
    assert await editor.text("untitled:Untitled-1") == "ok()"


@pytest.mark.asyncio
async def test_messages_that_make_no_sense_are_answered_or_let_pass(editor, script):
    script.write(otherwise="ok()")
    editor.open(URI, "x = ")
    writer = editor.stdin
    bodies = [
        "{",
        "[]",
        "null",
        json.dumps({"jsonrpc": "2.0"}),
        json.dumps({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"a": 1}}),
        json.dumps({"jsonrpc": "2.0", "method": "textDocument/didShowCompletion"}),
        json.dumps({"jsonrpc": "2.0", "method": "completer/snooze", "params": {}}),
        json.dumps({"jsonrpc": "2.0", "id": "unknown", "result": None}),
    ]
    answer: Future[None] = Future()
    editor.client.protocol._request_futures["odd"] = answer
    params = {"textDocument": {"uri": URI}, "position": {"line": "one", "character": 0}}
    bodies.append(
        json.dumps({"jsonrpc": "2.0", "id": "odd", "method": "textDocument/inlineCompletion", "params": params})
    )
    for body in bodies:
        writer.write(f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
    writer.write(b"no header\r\n\r\n")
    with pytest.raises(Exception, match="Invalid Params"):
        await within(asyncio.wrap_future(answer))
    assert await editor.text(URI) == "ok()"


LINES = st.text(st.sampled_from("ab \n\r\x0c\u2028é😀"), max_size=8)


@settings(deadline=None)
@given(LINES, st.lists(st.tuples(*[st.integers(0, 4)] * 4, LINES), max_size=6), st.integers(0, 4), st.integers(0, 6))
def test_the_text_around_a_cursor_is_the_document(text, edits, line, column):
    documents = Documents(max_document_bytes=10_000)
    document = documents.open(URI, "python", 1, text)
    for start_line, start, end_line, end, new in edits:
        span = types.Range(types.Position(start_line, start), types.Position(end_line, end))
        documents.change(URI, 2, [types.TextDocumentContentChangePartial(range=span, text=new)])
    place = document.place(types.Position(line, column))
    assert place is not None
    assert place.prefix + place.suffix == readable(str(document.text))
    assert "\r" not in place.prefix + place.suffix


@pytest.mark.asyncio
@pytest.mark.parametrize("uri", ["file://[x/a.py", "file:///a%00b.py", "", "a b"])
async def test_an_odd_uri_is_no_error(editor, script, uri):
    script.write(otherwise="ok()")
    editor.open(uri, "x = ")
    await editor.items(uri)


@pytest.mark.asyncio
@pytest.mark.parametrize("version", [{"version": None}, {}], ids=["null", "none"])
async def test_an_edit_without_a_version_is_an_edit(editor, script, version):
    script.write(otherwise="ok()")
    editor.open(URI, "x = ")
    document, changes = {"uri": URI, **version}, [{"text": "changed = "}]
    params = {"textDocument": document, "contentChanges": changes}
    editor.stdin.write(as_frame({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}))
    await editor.items(URI, position=(0, 99))
    assert script.calls()[0]["prefix"] == "changed = "


@pytest.mark.asyncio
async def test_a_snooze_without_end_is_a_long_one(editor, script):
    script.write(otherwise="ok()")
    editor.open(URI, "x = ")
    body = b'{"jsonrpc": "2.0", "method": "completer/snooze", "params": {"minutes": 1e999}}'
    editor.stdin.write(frame(body))
    assert not await editor.items(URI)
    assert "snoozed" in (await editor.has_status(kind="Inactive")).message
