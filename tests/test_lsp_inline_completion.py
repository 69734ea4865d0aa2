"""Inline completion against the real server process over stdio, with an engine by script below it."""

import asyncio

import pytest
from lsprotocol import types

from tests.editor import AUTOMATIC, INVOKED, Editor, until, within

pytestmark = pytest.mark.asyncio

URI = "file:///project/cart.py"
BEGIN = "def total(items):\n    "
WHOLE = "def total(items):\n    result = 0\n    for item in items:\n        result += item.price\n    return result\n"


async def test_ghost_text_while_typing_and_on_manual_trigger(editor, script):
    script.write(writes=WHOLE)
    editor.open(URI, BEGIN)
    manual = await editor.text(URI, trigger=INVOKED)
    assert manual == WHOLE[len(BEGIN) :].rstrip()
    editor.type(URI, "res")
    assert await editor.text(URI, trigger=AUTOMATIC) == manual[3:]


async def test_automatic_is_switchable_on_its_own(start_editor, script):
    script.write(writes=WHOLE)
    editor = await start_editor()
    await editor.initialize(automatic=False)
    await editor.has_status(message="ready", busy=False)
    editor.open(URI, BEGIN)
    assert await editor.text(URI, trigger=AUTOMATIC) is None
    assert await editor.text(URI, trigger=INVOKED) is not None
    editor.client.workspace_did_change_configuration(
        types.DidChangeConfigurationParams({"completer": {"automatic": True}})
    )
    assert await editor.text(URI, trigger=AUTOMATIC) is not None


async def test_an_item_names_the_command_that_accepts_it(editor, script):
    script.write(writes=WHOLE)
    editor.open(URI, BEGIN)
    (item,) = await editor.items(URI)
    assert item.command.command == "completer.accept" and len(item.command.arguments) == 1
    assert item.range == types.Range(types.Position(1, 4), types.Position(1, 4))
    await editor.accept(item)


async def test_a_newer_request_cancels_the_older_one_within_one_round(editor, script):
    script.write(writes=WHOLE, pace="steps")
    editor.open(URI, BEGIN)
    older = editor.ask(URI)
    script.allow(2)
    await until(lambda: script.count("begun") == 1)
    newer = editor.ask(URI, position=(0, 0))
    assert not (await within(older)).items
    (call,) = await until(script.calls)
    assert call["stop"] == "cancelled" and len(call["text"]) <= 16
    script.allow(100)
    await within(newer)


async def test_a_cancelled_request_frees_the_engine_within_one_round(editor, script):
    script.write(writes=WHOLE, pace="steps")
    editor.open(URI, BEGIN)
    request = editor.ask(URI, request_id="r")
    script.allow(1)
    await until(lambda: script.count("begun") == 1)
    editor.cancel("r")
    with pytest.raises(Exception, match="canceled"):
        await within(request)
    (call,) = await until(script.calls)
    assert call["stop"] == "cancelled" and len(call["text"]) <= 8


@pytest.mark.parametrize("way", ["cancelled", "edited and undone"])
async def test_who_asks_again_at_once_gets_an_answer_from_an_engine_that_notices_late(editor, script, way):
    script.write(writes=WHOLE, pace="late")
    editor.open(URI, BEGIN)
    first = editor.ask(URI, request_id="r")
    await until(lambda: script.count("begun") == 1)
    if way == "cancelled":
        editor.cancel("r")
    else:
        editor.edit(URI, (0, 0), (0, 0), "x")
        editor.edit(URI, (0, 0), (0, 1), "")
    second = editor.ask(URI)
    script.allow(100)
    assert (await within(second)).items[0].insert_text == WHOLE[len(BEGIN) :].rstrip()
    await asyncio.wait([first])


async def test_an_edit_elsewhere_cancels_what_is_running(editor, script):
    script.write(writes=WHOLE, pace="steps")
    editor.open(URI, BEGIN)
    request = editor.ask(URI)
    script.allow(1)
    await until(lambda: script.count("begun") == 1)
    editor.edit(URI, (0, 4), (0, 9), "sum")
    assert not (await within(request)).items
    (call,) = await until(script.calls)
    assert call["stop"] == "cancelled"


async def test_a_request_cancelled_by_a_key_that_goes_on_with_the_suggestion_keeps_it_running(editor, script):
    script.write(writes=WHOLE, pace="steps")
    editor.open(URI, BEGIN)
    first = editor.ask(URI, request_id="first")
    await until(lambda: script.count("begun") == 1)
    editor.type(URI, "r")
    editor.cancel("first")
    second = editor.ask(URI, trigger=AUTOMATIC)
    with pytest.raises(Exception, match="canceled"):
        await within(first)
    script.allow(100)
    assert (await within(second)).items[0].insert_text == WHOLE[len(BEGIN) + 1 :].rstrip()
    assert [call["stop"] for call in script.calls() if not call["background"]] == ["eos"]


async def test_typing_what_is_shown_needs_no_model_call(editor, script):
    script.write(writes=WHOLE)
    editor.open(URI, BEGIN)
    shown = await editor.text(URI)
    await until(lambda: len(script.calls()) == 2)  # the second prepares what follows it
    for typed in range(1, 12):
        editor.type(URI, shown[typed - 1])
        assert await editor.text(URI, trigger=AUTOMATIC) == shown[typed:]
    assert len(script.calls()) == 2


async def test_typing_something_else_starts_anew_with_the_old_text_as_draft(editor, script):
    script.write(writes=WHOLE, otherwise="total = 0")
    editor.open(URI, BEGIN)
    shown = await editor.text(URI)
    editor.type(URI, "reX")
    assert await editor.text(URI) == "total = 0"
    assert [c["previous"] for c in script.calls() if c["prefix"].endswith("reX")] == [shown[2:]]


async def test_backspacing_makes_the_old_text_the_draft(editor, script):
    script.write(writes=WHOLE)
    editor.open(URI, BEGIN + "result")
    shown = await editor.text(URI)
    editor.edit(URI, (1, 7), (1, 10), "")
    assert await editor.text(URI) == "ult" + shown
    assert [c["previous"] for c in script.calls() if c["prefix"] == BEGIN + "res"] == ["ult" + shown]


async def test_after_accepting_the_next_completion_is_already_prepared(editor, script):
    script.write(writes=WHOLE, most=10)
    editor.open(URI, BEGIN)
    shown = await editor.text(URI)
    assert shown == "result = 0"
    await until(lambda: [c for c in script.calls() if c["background"]])
    editor.type(URI, shown)
    calls = len(script.calls())
    assert await editor.text(URI, trigger=AUTOMATIC) == "\n    for i"
    assert len([c for c in script.calls() if c["prefix"] == BEGIN + shown]) == 1
    assert calls >= 2


async def test_asking_again_in_the_same_place_needs_no_model_call(editor, script):
    script.write(writes=WHOLE)
    editor.open(URI, BEGIN)
    other = "file:///project/other.py"
    editor.open(other, "x")
    first = await editor.text(URI)
    await editor.text(other)
    calls = [c for c in script.calls() if c["prefix"] == BEGIN]
    assert await editor.text(URI) == first
    assert [c for c in script.calls() if c["prefix"] == BEGIN] == calls


async def test_chunks_stream_and_the_answer_comes_with_the_first_whole_line(start_editor, script):
    editor = await start_editor()
    await editor.initialize(streaming=True)
    await editor.has_status(message="ready", busy=False)
    script.write(writes=WHOLE, pace="steps", chunk=12)
    editor.open(URI, BEGIN)
    request = editor.ask(URI)
    script.allow(2)
    (item,) = (await within(request)).items
    assert WHOLE[len(BEGIN) :].startswith(item.insert_text) and item.insert_text.startswith("result = 0")
    script.allow(100)
    last = await until(lambda: next((chunk for chunk in editor.chunks if chunk.done), None))
    assert last.insertText == WHOLE[len(BEGIN) :].rstrip() and last.uri == URI
    assert {chunk.id for chunk in editor.chunks} == set(item.command.arguments)
    texts = [item.insert_text, *(chunk.insertText for chunk in editor.chunks)]
    assert all(longer.startswith(shorter) for shorter, longer in zip(texts, texts[1:], strict=False))


async def test_a_client_that_knows_nothing_of_chunks_gets_the_final_list(editor, script):
    script.write(writes=WHOLE, pace="steps", chunk=12)
    editor.open(URI, BEGIN)
    request = editor.ask(URI)
    script.allow(100)
    assert (await within(request)).items[0].insert_text == WHOLE[len(BEGIN) :].rstrip()
    assert editor.chunks == []


async def test_a_slow_completion_is_answered_at_the_deadline_with_its_first_line(start_editor, script, monkeypatch):
    monkeypatch.setenv("COMPLETER_SERVICE_FIRST_LINE_DEADLINE_MS", "50")
    editor = await start_editor()
    await editor.initialize()
    await editor.has_status(message="ready", busy=False)
    script.write(writes=WHOLE, pace="steps", chunk=12)
    editor.open(URI, BEGIN)
    request = editor.ask(URI)
    script.allow(2)
    assert (await within(request)).items[0].insert_text == "result = 0"


async def test_at_the_deadline_an_editor_that_understands_chunks_gets_what_there_is(start_editor, script, monkeypatch):
    monkeypatch.setenv("COMPLETER_SERVICE_FIRST_LINE_DEADLINE_MS", "50")
    editor = await start_editor()
    await editor.initialize(streaming=True)
    await editor.has_status(message="ready", busy=False)
    script.write(otherwise="compute(items)\n", pace="steps", chunk=7)
    editor.open(URI, "result = ")
    request = editor.ask(URI)
    script.allow(1)
    assert (await within(request)).items[0].insert_text == "compute"
    script.allow(100)
    last = await until(lambda: next((chunk for chunk in editor.chunks if chunk.done), None))
    assert last.insertText == "compute(items)"


async def test_the_popup_s_selected_item_is_extended_or_left_alone(editor, script):
    script.write(writes=WHOLE)
    editor.open(URI, BEGIN + "re")
    typed = types.Range(types.Position(1, 4), types.Position(1, 6))
    (item,) = await editor.items(URI, selected=types.SelectedCompletionInfo(typed, "result"))
    assert item.insert_text.startswith("result = 0") and item.range == typed
    assert not await editor.items(URI, selected=types.SelectedCompletionInfo(typed, "items"))


async def test_single_line_and_max_lines_are_options_of_the_connection(start_editor, script):
    script.write(writes=WHOLE)
    editor = await start_editor()
    await editor.initialize(single_line=True, max_lines=3, colour="red")
    await editor.has_status(message="ready", busy=False)
    editor.open(URI, BEGIN)
    await editor.text(URI)
    assert (script.calls()[0]["mode"], script.calls()[0]["max_lines"]) == ("line", 3)
    assert any("colour" in message.message for message in editor.client.log_messages)


async def test_while_the_model_loads_manual_waits_and_automatic_gets_nothing_and_the_status_says_so(
    start_editor, script
):
    script.write(writes=WHOLE, load="gate")
    editor = await start_editor()
    await editor.initialize()
    await editor.has_status(message="loading the model", busy=True)
    editor.open(URI, BEGIN)
    assert await editor.text(URI, trigger=AUTOMATIC) is None
    manual = editor.ask(URI, trigger=INVOKED)
    done, _ = await asyncio.wait([manual], timeout=0.05)
    assert not done
    script.open_gate()
    assert (await within(manual)).items
    kinds = [[report.kind for report in reports] for reports in editor.client.progress_reports.values()]
    assert kinds == [["begin", "end"]]


async def test_a_document_that_opens_is_read_ahead_and_gives_way_to_a_request(editor, script):
    script.write(writes=WHOLE, warm="gate")
    editor.open(URI, BEGIN)
    await until(lambda: script.count("warmed") == 1)
    assert await editor.text(URI) is not None
    assert script.calls("warmed_calls")[0]["stop"] == "cancelled"
    await until(lambda: script.count("warmed") == 2)  # and goes on afterwards
    other = "file:///project/other.py"
    editor.open(other, "x = ")
    await until(lambda: script.count("warmed") == 3)
    script.write(warm="free")
    editor.open("file:///project/third.py", "x = ")
    assert (await until(lambda: script.calls("warmed_calls")[3:]))[0]["stop"] == "warm"


async def test_where_a_request_was_not_waited_for_the_text_is_read_ahead(start_editor, script):
    script.write(writes=WHOLE, load="gate")
    editor = await start_editor()
    await editor.initialize()
    editor.open(URI, BEGIN)
    assert await editor.text(URI, trigger=AUTOMATIC) is None
    script.open_gate()
    assert (await until(lambda: script.calls("warmed_calls")))[0]["prefix"] == BEGIN


async def test_an_error_names_the_fix_and_is_not_final(start_editor, script):
    script.write(writes=WHOLE, load="no model: run completer models pull")
    editor = await start_editor()
    await editor.initialize()
    status = await editor.has_status(kind="Error")
    assert status.message == "no model: run completer models pull"
    editor.open(URI, BEGIN)
    assert await editor.text(URI, trigger=AUTOMATIC) is None
    assert await editor.text(URI) is None
    assert [message.message for message in editor.client.messages] == [f"completer: {status.message}"]
    script.write(load="free")
    assert await editor.text(URI) is not None


async def test_secret_files_are_never_completed(editor, script):
    script.write(otherwise="hunter2")
    editor.open("file:///project/.env", "PASSWORD=", "dotenv")
    assert await editor.text("file:///project/.env") is None
    assert script.calls() == []
    status = await editor.has_status(kind="Inactive")
    assert "secrets" in status.message


async def test_snooze_and_wake_up(editor, script):
    script.write(writes=WHOLE)
    editor.open(URI, BEGIN)
    editor.client.protocol.notify("completer/snooze", {"minutes": 5})
    assert await editor.text(URI) is None
    assert "snoozed" in (await editor.has_status(kind="Inactive")).message
    editor.client.protocol.notify("completer/snooze", {"minutes": 0})
    assert await editor.text(URI) is not None


async def test_config_hot_reload(editor, script, tmp_path):
    script.write(writes=WHOLE)
    editor.open(URI, BEGIN)
    assert await editor.text(URI) is not None
    folder = tmp_path / "completer_config_dir"
    folder.mkdir()
    (folder / "config.toml").write_text('[privacy]\ndisabled_languages = ["python"]\n')

    async def switched_off() -> None:
        while await editor.text(URI) is not None:
            await asyncio.sleep(0.05)

    await within(switched_off())
    assert "switched off" in (await editor.has_status(kind="Inactive")).message


async def test_asked_again_by_hand_what_other_files_say_by_now_counts(editor, script):
    script.write(otherwise="total_price(items)")
    other = "file:///project/prices.py"
    editor.open(other, "def total_price(items):\n    return sum(items)\n")
    editor.open(URI, "from prices import total_price\n\ntotal = ")

    async def completions() -> int:
        before = [call for call in script.calls() if not call["background"]]
        assert await editor.text(URI) == "total_price(items)"
        return len([call for call in script.calls() if not call["background"]]) - len(before)

    assert [await completions(), await completions()] == [1, 0]
    editor.edit(other, (1, 11), (1, 14), "math.fsum")
    assert [await completions(), await completions()] == [1, 0]


async def test_open_and_imported_files_are_context(start_editor, script, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    for name in ("shop", "prices"):
        (project / f"{name}.py").write_text(f"class Price:\n    def {name}(self):\n        return self.{name} / 1.19\n")
    (project / ".env").write_text("price = Price()\nprint(price)\n")
    editor = await start_editor()
    await editor.initialize(root=project.as_uri())
    await editor.has_status(message="ready", busy=False)
    script.write(otherwise="price.net()")
    editor.open((project / "shop.py").as_uri(), (project / "shop.py").read_text())
    editor.open((project / ".env").as_uri(), (project / ".env").read_text(), "dotenv")
    main = (project / "main.py").as_uri()
    editor.open(main, "from prices import Price\n\nprice = Price()\nprint(", "python")
    await editor.text(main)  # imported files are read meanwhile, by another thread
    while "prices.py" not in (call := script.calls()[-1])["context"]:
        editor.type(main, "(")
        await editor.text(main)
    assert set(call["context"]) == {"shop.py", "prices.py"}
    assert (call["project"], call["path"]) == (str(project), "main.py")


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
async def test_registered_as_the_client_asks(start_editor, script, dynamic):
    editor: Editor = await start_editor()
    inline = types.InlineCompletionClientCapabilities(dynamic_registration=dynamic)
    text_document = types.TextDocumentClientCapabilities(inline_completion=inline)
    result = await editor.initialize(capabilities=types.ClientCapabilities(text_document=text_document))
    assert (result.capabilities.inline_completion_provider is None) == dynamic
    assert result.capabilities.execute_command_provider is not None
    assert result.capabilities.execute_command_provider.commands == ("completer.accept",)
    if dynamic:
        (registration,) = await until(lambda: editor.registrations)
        assert registration.method == types.TEXT_DOCUMENT_INLINE_COMPLETION
    else:
        await editor.has_status(message="ready", busy=False)
        assert editor.registrations == []


@pytest.mark.parametrize("encoding, column", [("utf-8", 5), ("utf-16", 3), ("utf-32", 2)])
async def test_position_encodings_are_negotiated(start_editor, script, encoding, column):
    script.write(writes="😀a = 1")
    editor = await start_editor()
    general = types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind(encoding)])
    result = await editor.initialize(capabilities=types.ClientCapabilities(general=general))
    assert result.capabilities.position_encoding == encoding
    editor.open(URI, "😀a = 2")
    await editor.text(URI, position=(0, column))
    assert script.calls()[0]["prefix"] == "😀a"


async def test_shown_accepted_partial_and_rejected_are_counted_and_no_text_is_logged(editor, script, completer):
    script.write(writes=WHOLE)
    editor.open(URI, BEGIN)
    (item,) = await editor.items(URI)
    editor.client.protocol.notify("textDocument/didShowCompletion", {"item": as_json(item)})
    partial = {"item": as_json(item), "acceptedLength": 6}
    editor.client.protocol.notify("textDocument/didPartiallyAcceptCompletion", partial)
    editor.type(URI, "result")
    (item,) = await editor.items(URI)
    await editor.accept(item)
    editor.set_text(URI, "x = ")
    script.write(otherwise="canary()")
    (item,) = await editor.items(URI)
    editor.client.protocol.notify("completer/didRejectCompletion", {"item": as_json(item)})
    assert await editor.text(URI) == "canary()"
    logged = completer("logs").stdout
    for kind in ("shown, 80 of 80", "partially_accepted, 6 of 80", "accepted, 74 of 80", "rejected, 8 of 8"):
        assert kind in logged
    assert "canary" not in logged and "result" not in logged and "cart.py" not in logged


def as_json(item: types.InlineCompletionItem) -> dict:
    assert item.command is not None and item.command.arguments is not None
    return {
        "insertText": item.insert_text,
        "command": {"command": item.command.command, "arguments": [*item.command.arguments]},
    }
