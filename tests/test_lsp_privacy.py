"""Nothing of the text leaves the process: not in a log, not in a file, not on stderr, at any log level."""

import json
import sys

import pytest

from tests.editor import Editor

CANARY = "canary_3141592653"
URI = f"file:///project/{CANARY}.py"


@pytest.mark.asyncio
async def test_no_text_reaches_logs_or_disk_at_any_log_level(script, tmp_path):
    stderr = tmp_path / "stderr"
    command = f'exec "{sys.executable}" -m tests.scripted_server "{script.folder}" 2> "{stderr}"'  # logs at DEBUG there
    editor = await Editor.start("sh", "-c", command)
    await editor.initialize(streaming=True)
    await editor.has_status(message="ready", busy=False)
    script.write(otherwise=f"{CANARY}()\n")
    editor.open(URI, f"{CANARY} = ")
    (item,) = await editor.items(URI)
    assert item.insert_text == f"{CANARY}()"
    await editor.accept(item)
    editor.type(URI, f"{CANARY}(")
    await editor.text(URI)
    editor.cancel(CANARY)
    script.write(fails=CANARY)
    editor.set_text(URI, f"{CANARY} + {CANARY}")
    assert await editor.text(URI) is None
    nonsense = {"jsonrpc": "2.0", "method": f"{CANARY}/{CANARY}", "params": {"text": CANARY}}
    malformed = {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {CANARY: CANARY}}
    for body in (json.dumps(nonsense), json.dumps(malformed), f'{{"{CANARY}'):
        editor.stdin.write(f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
    script.values.pop("fails")
    script.write(otherwise="ok()")
    editor.set_text(URI, "x = ")
    assert await editor.text(URI) == "ok()"
    await editor.stop()
    files = [path for path in tmp_path.rglob("*") if path.is_file() and script.folder not in path.parents]
    assert stderr in files and any(path.suffix == ".log" for path in files)
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []
    assert list(tmp_path.rglob(f"*{CANARY}*")) == []
    log = next(path for path in files if path.suffix == ".log").read_text("utf-8")
    assert "a completion failed" in log and "ValueError" in log  # it does log, and says what failed


@pytest.mark.asyncio
@pytest.mark.parametrize("level", ["--quiet", "--verbose"])
async def test_no_text_reaches_statistics_or_logs_with_a_model_that_learns(tiny_model, tmp_path, monkeypatch, level):
    """The real command, engine and database; a daemon logs what the same command without an option would."""
    monkeypatch.setenv("COMPLETER_MODEL_TARGET", str(tiny_model))
    monkeypatch.setenv("COMPLETER_MODEL_DRAFT", "none")
    monkeypatch.setenv("COMPLETER_COMPLETION_MODE", "text")
    project, stderr = tmp_path / "project", tmp_path / "stderr"
    project.mkdir()
    uri = (project / f"{CANARY}.py").as_uri()
    command = f'exec "{sys.executable}" -m completer {level} lsp --in-process 2> "{stderr}"'
    editor = await Editor.start("sh", "-c", command)
    await editor.initialize(root=project.as_uri(), streaming=True)
    await editor.has_status(message="ready", busy=False)
    editor.open((project / "other.py").as_uri(), f"{CANARY}_2 = 1\n" * 3)
    editor.open(uri, f"def {CANARY}():\n    return {CANARY} + ")
    for _ in range(3):
        for item in await editor.items(uri):
            await editor.accept(item)
        editor.type(uri, CANARY)
    await editor.stop()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.read_bytes().startswith(b"SQLite format 3") for path in files)
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []
    assert (level == "--verbose") == ("tokens" in stderr.read_text("utf-8"))


@pytest.mark.asyncio
async def test_a_document_opened_while_snoozed_is_context_after_waking(start_editor, script, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    editor = await start_editor()
    await editor.initialize(root=project.as_uri())
    script.write(otherwise="price.net()")
    editor.client.protocol.notify("completer/snooze", {"minutes": 5})
    editor.open((project / "shop.py").as_uri(), "class Price:\n    def shop(self):\n        return self.shop / 1.19\n")
    main = (project / "main.py").as_uri()
    editor.open(main, "price = Price()\nself.shop = Price(")
    editor.client.protocol.notify("completer/snooze", {"minutes": 0})
    editor.type(main, "(")
    await editor.items(main)
    assert [call["context"] for call in script.calls() if not call["background"]] == [["shop.py"]]
