"""Cells of notebooks: documents of their own, with the code above them as text before the cursor."""

from unittest.mock import Mock, patch

import pytest
from lsprotocol import types

from completer import paths
from completer.config_source import ConfigSource
from completer.context.collector import ContextCollector
from lsp.documents import Cell
from lsp.replay import Replay
from lsp.service import Service
from lsp.session import Session
from tests.editor import Editor
from tests.scripted_engine import load_scripted

NOTEBOOK = "file:///project/a.ipynb"
CODE, MARKUP = types.NotebookCellKind.Code, types.NotebookCellKind.Markup


def uri(name: str) -> str:
    return f"vscode-notebook-cell:/project/a.ipynb#{name}"


def cell(name: str, kind: types.NotebookCellKind = CODE) -> types.NotebookCell:
    return types.NotebookCell(kind=kind, document=uri(name))


def document(name: str, text: str, language: str = "python") -> types.TextDocumentItem:
    return types.TextDocumentItem(uri(name), language, 1, text)


def open_notebook(editor: Editor) -> None:
    notebook = types.NotebookDocument(NOTEBOOK, "jupyter-notebook", 1, [cell("1"), cell("2", MARKUP), cell("3")])
    documents = [document("1", "import math\r\n"), document("2", "# Title", "markdown"), document("3", "math.")]
    editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, documents))


def change_notebook(editor: Editor, cells: types.NotebookDocumentCellChanges) -> None:
    change = types.NotebookDocumentChangeEvent(cells=cells)
    identifier = types.VersionedNotebookDocumentIdentifier(2, NOTEBOOK)
    editor.client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(identifier, change))


@pytest.mark.asyncio
async def test_a_cell_is_completed_after_the_code_above_it(editor, script):
    script.write(otherwise="pi")
    open_notebook(editor)
    assert await editor.text(uri("3"), (0, 5)) == "pi"
    assert script.calls()[0]["prefix"] == "import math\n\nmath."


@pytest.mark.asyncio
async def test_typing_along_in_a_cell_needs_no_model_call(editor, script):
    script.write(otherwise="factorial(3)")
    open_notebook(editor)
    assert await editor.text(uri("3"), (0, 5)) == "factorial(3)"
    begun = script.count("begun")
    at = types.Range(*[types.Position(0, 5)] * 2)
    content = types.NotebookDocumentCellContentChanges(
        types.VersionedTextDocumentIdentifier(2, uri("3")),
        [types.TextDocumentContentChangePartial(range=at, text="fac")],
    )
    change_notebook(editor, types.NotebookDocumentCellChanges(text_content=[content]))
    assert await editor.text(uri("3"), (0, 8)) == "torial(3)"
    assert [call for call in script.calls()[begun:] if not call["background"]] == []


@pytest.mark.asyncio
async def test_cells_that_come_go_and_change_places(editor, script):
    script.write(otherwise="pi")
    open_notebook(editor)
    added = types.NotebookDocumentCellChangeStructure(
        types.NotebookCellArrayChange(start=0, delete_count=2, cells=[cell("4")]),
        did_open=[document("4", "from math import pi")],
        did_close=[types.TextDocumentIdentifier(uri("1")), types.TextDocumentIdentifier(uri("2"))],
    )
    change_notebook(editor, types.NotebookDocumentCellChanges(structure=added))
    assert await editor.text(uri("3"), (0, 5)) == "pi"
    assert script.calls()[-1]["prefix"] == "from math import pi\n\nmath." or script.calls()[-2]["prefix"].startswith(
        "from"
    )
    assert await editor.text(uri("1"), (0, 0)) is None
    closed = types.DidCloseNotebookDocumentParams(
        types.NotebookDocumentIdentifier(NOTEBOOK), [types.TextDocumentIdentifier(uri(name)) for name in ("3", "4")]
    )
    editor.client.notebook_document_did_close(closed)
    assert await editor.text(uri("3"), (0, 5)) is None


def test_a_new_daemon_is_told_of_notebooks_as_they_are_now():
    replay = Replay(1000)
    replay.sent({"method": "initialize", "id": 1})
    cells = [{"kind": 2, "document": "c1"}, {"kind": 2, "document": "c2"}]
    documents = [{"uri": name, "languageId": "python", "version": 1, "text": name} for name in ("c1", "c2")]
    opened = {"notebookDocument": {"uri": "n", "version": 1, "cells": cells}, "cellTextDocuments": documents}
    replay.sent({"method": "notebookDocument/didOpen", "params": opened})
    structure = {"array": {"start": 0, "deleteCount": 1, "cells": []}, "didClose": [{"uri": "c1"}]}
    content = [{"document": {"uri": "c2", "version": 5}, "changes": [{"text": "x = 1"}]}]
    change = {"cells": {"structure": structure, "textContent": content}}
    replay.sent(
        {"method": "notebookDocument/didChange", "params": {"notebookDocument": {"uri": "n"}, "change": change}}
    )
    _, told = replay.messages("r")
    assert told["method"] == "notebookDocument/didOpen"
    assert [cell["document"] for cell in told["params"]["notebookDocument"]["cells"]] == ["c2"]
    assert [(d["uri"], d["version"], d["text"]) for d in told["params"]["cellTextDocuments"]] == [("c2", 5, "x = 1")]
    closed = {"notebookDocument": {"uri": "n"}, "cellTextDocuments": [{"uri": "c2"}]}
    replay.sent({"method": "notebookDocument/didClose", "params": closed})
    assert len(replay.messages("r")) == 1


@pytest.mark.asyncio
async def test_context_is_chosen_by_where_the_cursor_is_in_its_cell(script):
    service = Service(ConfigSource(paths.config_file(), {}), load_scripted(script.folder))
    session = Session(service, Mock())
    try:
        session.opened(uri("1"), "python", 1, "import math\n" * 100)
        session.opened(uri("2"), "python", 1, "a = 1\nb = math.")
        session.documents.splice_cells(NOTEBOOK, 0, 0, [Cell(uri("1"), True), Cell(uri("2"), True)])
        asked = session.documents.get(uri("2"))
        assert asked is not None
        place = session.documents.place(asked, types.Position(1, 9))
        assert place is not None
        with patch.object(ContextCollector, "chunks", return_value=()) as chunks:
            session.context(session.request(place))
        assert chunks.call_args.args[:2] == (uri("2"), len("a = 1\nb = math."))
    finally:
        service.close()
