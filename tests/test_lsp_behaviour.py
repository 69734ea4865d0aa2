"""What the user sees, row by row, where no other file shows it: the real server process, an engine by script."""

import asyncio
import json
import os
import time
from typing import Any

import psutil
import pytest
from lsprotocol import types

from completer.models.registry import KNOWN_MODELS
from completer.models.store import folder_of, partial_folder_of
from lsp.debounce import LONGEST_S, SHORTEST_S
from lsp.protocol import ACCEPT_COMMAND
from tests.conftest import ROOT
from tests.editor import AUTOMATIC, INVOKED, Editor, until, within

pytestmark = pytest.mark.asyncio
URI = "file:///project/cart.py"
BEGIN = "def total(items):\n    "
WHOLE = "def total(items):\n    result = 0\n    for item in items:\n        result += item.price\n    return result\n"


async def ready(start_editor: Any, **options: Any) -> Editor:
    editor: Editor = await start_editor()
    await editor.initialize(**options)
    await editor.has_status(message="ready", busy=False)
    return editor


async def test_automatic_and_manual_are_separately_switchable(start_editor, script):
    script.write(writes=WHOLE)
    editor = await ready(start_editor, manual=False)
    editor.open(URI, BEGIN)
    assert await editor.text(URI, trigger=INVOKED) is None
    assert await editor.text(URI, trigger=AUTOMATIC) is not None


async def test_single_line_or_multi_line_is_chosen_by_syntax(editor, script):
    script.write(writes=WHOLE + "\nprint(total([]))\n")
    editor.open(URI, BEGIN)
    assert await editor.text(URI) == WHOLE[len(BEGIN) :].rstrip()
    other = "file:///project/other.py"
    editor.open(other, BEGIN + "result = ")
    assert await editor.text(other) == "0"


async def test_debounce_an_automatic_request_waits_for_a_pause_and_begins_nothing_for_the_key_before(editor, script):
    script.write(otherwise="ok()")
    editor.open(URI, "x = ")
    editor.type(URI, "y")
    request = editor.ask(URI, trigger=AUTOMATIC)
    began_s = time.perf_counter()
    editor.type(URI, "z")
    newer = editor.ask(URI, trigger=AUTOMATIC)
    assert not (await within(request)).items
    assert (await within(newer)).items
    assert time.perf_counter() - began_s > SHORTEST_S
    assert [call["prefix"] for call in script.calls() if not call["background"]] == ["x = yz"]


async def test_debounce_a_manual_trigger_never_waits(editor, script):
    script.write(otherwise="ok()")
    editor.open(URI, "x = ")
    taken_s = []
    for _ in range(5):
        editor.type(URI, "y")
        began_s = time.perf_counter()
        assert await editor.text(URI, trigger=INVOKED) == "ok()"
        taken_s.append(time.perf_counter() - began_s)
    assert min(taken_s) < LONGEST_S / 2  # an automatic one waits for all of it, as nothing is known of the rhythm


@pytest.mark.parametrize(
    "before, after, written, shown",
    [
        ("print(", ")\n", "x)\n", "x"),
        ("def f():\n    a = 1\n    ", "\n    return a\n", "b = 2\n    return a\n", "b = 2"),
        ("def f():\n    ", "", "    return 1   \n", "return 1"),
        ("if x:\n\t", "", "    y = 1\n", "y = 1"),
        ("x = 1\n", "", "<|fim_middle|>", None),
        ("x = ", "\n", "   \n", None),
    ],
    ids=["closers", "following text", "indentation", "tabs", "FIM tokens", "blank"],
)
async def test_duplicates_wrong_indentation_and_fim_tokens_are_never_shown(
    editor, script, before, after, written, shown
):
    script.write(otherwise=written)
    editor.open(URI, before + after)
    line, column = before.count("\n"), len(before) - before.rfind("\n") - 1
    assert await editor.text(URI, position=(line, column)) == shown


async def test_text_after_the_cursor_on_the_line_stays_and_the_range_covers_what_is_replaced(editor, script):
    script.write(otherwise="items)\n")
    editor.open(URI, "total(it)\n")
    typed = types.Range(types.Position(0, 6), types.Position(0, 8))
    (item,) = await editor.items(URI, (0, 8), selected=types.SelectedCompletionInfo(typed, "it"))
    assert (item.insert_text, item.range) == ("ititems", typed)
    (item,) = await editor.items(URI, (0, 6))
    assert item.range == types.Range(*[types.Position(0, 6)] * 2) and not item.insert_text.endswith(")")


async def test_ignore_globs_are_never_completed_and_never_context(start_editor, script, tmp_path):
    project = tmp_path / "project"
    (project / "private").mkdir(parents=True)
    (project / ".completerignore").write_text("private/\n")
    script.write(otherwise="price()")
    editor = await ready(start_editor, root=project.as_uri())
    hidden, shown = (project / "private" / "a.py").as_uri(), (project / "b.py").as_uri()
    editor.open(hidden, "def price(item):\n    return item.price\n")
    editor.open(shown, "total = item.price + ")
    assert await editor.text(hidden) is None
    assert await editor.text(shown) == "price()"
    assert [call["context"] for call in script.calls()] == [[]] * len(script.calls())


async def test_secret_files_are_never_context_and_never_counted(start_editor, script, tmp_path, monkeypatch):
    project = tmp_path / "project"
    project.mkdir()
    script.write(otherwise="price()")
    editor = await ready(start_editor, root=project.as_uri())
    secret, shown = (project / "secrets.py").as_uri(), (project / "b.py").as_uri()
    editor.open(secret, "def price(item):\n    return item.price\n")
    editor.open(shown, "import secrets\ntotal = item.price + ")
    assert await editor.text(secret) is None
    assert await editor.text(shown) == "price()"
    calls = script.calls() + script.calls("warmed_calls")
    assert [call["context"] for call in calls] == [[]] * len(calls)
    assert {call["path"] for call in calls} == {"b.py"}


async def test_combining_characters_mixed_line_ends_and_no_final_newline(editor, script):
    before = "a = 'e\u0301'\r\nb = '👩\u200d🔧'\rc = '\u0301"
    script.write(otherwise="'\nd = 1\n", chunk=1)
    editor.open(URI, before)
    assert await editor.text(URI) == "'"
    assert script.calls()[0]["prefix"] == before.replace("\r\n", "\n").replace("\r", "\n")
    editor.edit(URI, (1, 5), (1, 10), "x")  # in units of UTF-16: both emoji and what joins them
    assert await editor.text(URI) == "'"
    assert [call["prefix"] for call in script.calls() if not call["background"]][-1].split("\n")[1] == "b = 'x'"


async def test_per_language_switch(start_editor, script, monkeypatch):
    monkeypatch.setenv("COMPLETER_PRIVACY_DISABLED_LANGUAGES", "markdown")
    script.write(otherwise="ok()")
    editor = await ready(start_editor)
    for name, language, expected in (("a.md", "markdown", None), ("a.py", "python", "ok()")):
        uri = f"file:///project/{name}"
        editor.open(uri, "x = ", language)
        assert await editor.text(uri) == expected
    assert "markdown is switched off" in (await editor.has_status(kind="Inactive")).message


@pytest.mark.parametrize("host", ["ssh-remote%2Bhost", "wsl%2BUbuntu", "dev-container%2B7b"])
async def test_remote_ssh_wsl_and_containers_are_served_where_the_files_are(start_editor, script, host):
    root = f"vscode-remote://{host}/home/u/shop"
    script.write(otherwise="ok()")
    editor = await ready(start_editor, root=root)
    editor.open(f"{root}/a.py", "x = ")
    editor.open(f"{root}/.env", "x = ", "dotenv")
    assert await editor.text(f"{root}/a.py") == "ok()"
    assert await editor.text(f"{root}/.env") is None
    assert script.calls()[0]["path"] == "a.py"
    extension = json.loads((ROOT / "vscode-extension" / "package.json").read_text("utf-8"))
    assert extension["extensionKind"] == ["workspace"]


async def test_per_project_switch(start_editor, script, tmp_path, monkeypatch):
    monkeypatch.setenv("COMPLETER_PRIVACY_DISABLED_PROJECTS", str(tmp_path / "off"))
    script.write(otherwise="ok()")
    editor = await ready(start_editor)
    for name, expected in (("off", None), ("on", "ok()")):
        uri = (tmp_path / name / "a.py").as_uri()
        editor.open(uri, "x = ")
        assert await editor.text(uri) == expected
    assert (await editor.has_status(kind="Inactive")).message.startswith("off for this file")


async def test_no_network_at_run_time(editor, script):
    script.write(otherwise="ok()")
    editor.open(URI, "x = ")
    assert await editor.text(URI) == "ok()"
    assert psutil.Process(editor.process.pid).net_connections("inet") == []


async def test_status_says_how_far_a_pull_has_come_and_then_loads_the_model(start_editor, script):
    model = KNOWN_MODELS[0]
    fix = f"completer models pull {model.name}"
    script.write(load=f"it is not installed; run {fix}", model=model.name, otherwise="ok()")
    editor: Editor = await start_editor()
    await editor.initialize()
    status = await editor.has_status(kind="Error")
    assert status.command == fix and fix in status.message
    partial = partial_folder_of(model.name)
    partial.mkdir(parents=True)
    with (partial / "model.gguf").open("wb") as stream:
        stream.truncate(model.gguf_bytes * 40 // 100)
    status = await editor.has_status(message="a model is being pulled: 39 %")
    assert status.busy
    os.replace(partial, folder_of(model.name))
    script.write(load="free")
    await editor.has_status(message="ready", busy=False)
    editor.open(URI, "x = ")
    assert await editor.text(URI) == "ok()"


async def test_status_thinking_ready_and_numbers(editor, script):
    script.write(writes=WHOLE, pace="steps")
    editor.open(URI, BEGIN)
    request = editor.ask(URI)
    await editor.has_status(message="thinking", busy=True)
    script.allow(100)
    await request
    status = await editor.has_status(message="ready", source="ngram")
    assert (status.acceptance, status.tokens_per_s, status.k) == (0.75, 50.0, 2)


async def test_first_completion_in_a_file_just_opened_is_brief_and_the_rest_is_read_while_idle(editor, script):
    script.write(otherwise="ok()", brief=True)
    editor.open(URI, "x = 1\n" * 2000)
    await until(lambda: script.count("warmed") == 1)
    assert await editor.text(URI) == "ok()"
    assert 750 <= script.calls()[0]["first_line_ms"] <= 1500
    await until(lambda: script.count("warmed") == 2)
    assert (await until(lambda: script.calls("warmed_calls")[1:]))[0]["prefix"] == "x = 1\n" * 2000


async def test_first_completion_has_less_time_to_read_after_a_wait(start_editor, script, monkeypatch):
    monkeypatch.setenv("COMPLETER_SERVICE_FIRST_LINE_DEADLINE_MS", "20")
    script.write(otherwise="ok()", load="gate")
    editor: Editor = await start_editor()
    await editor.initialize()
    editor.open(URI, "x = ")
    request = editor.ask(URI)
    await editor.accept(types.InlineCompletionItem("", command=types.Command("", ACCEPT_COMMAND, arguments=[""])))
    await asyncio.sleep(0.02)
    script.open_gate()
    await within(request)
    assert script.calls()[0]["first_line_ms"] == 10


@pytest.mark.parametrize(
    "policy, automatic, manual", [("same", "ok()", "ok()"), ("manual", None, "ok()"), ("off", None, None)]
)
async def test_on_battery_no_idle_work_and_same_manual_or_off(
    start_editor, script, monkeypatch, policy, automatic, manual
):
    monkeypatch.setenv("COMPLETER_SERVICE_ON_BATTERY", policy)
    script.write(otherwise="ok()", battery=True)
    editor: Editor = await start_editor()
    await editor.initialize()
    said = {"same": "ready", "manual": "ready, by hand only while on battery, by service.on_battery"}
    await editor.has_status(**({"kind": "Inactive"} if policy == "off" else {"message": said[policy], "busy": False}))
    editor.open(URI, "x = ")
    assert await editor.text(URI, trigger=AUTOMATIC) == automatic
    assert await editor.text(URI, trigger=INVOKED) == manual
    assert script.count("warmed") == 0 and not [call for call in script.calls() if call["background"]]


async def test_an_idle_server_does_not_spin(editor, script):
    process = psutil.Process(editor.process.pid)
    before = sum(process.cpu_times()[:2])
    await asyncio.sleep(1.0)
    assert sum(process.cpu_times()[:2]) - before < 0.1
