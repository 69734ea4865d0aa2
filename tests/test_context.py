"""Context: which chunks of other files stand before a text, in which order, and which never do."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completer.context import collector as context
from completer.context.collector import LINES_AFTER, LINES_BEFORE, ContextCollector
from completer.context.passages import MAX_CHARS, MAX_LINES, MIN_LINES, Passage, split
from completer.request import ContextChunk
from completer.source_text import read_text

BUDGET = 2000


def everything(path: str) -> bool:
    return True


def but(*refused: str) -> Callable[[str], bool]:
    return lambda path: os.path.basename(path) not in refused


def function(name: str, *words: str) -> str:
    """A passage of its own, with these words in it."""
    body = "".join(f"    {word} = load_{name}({word})\n" for word in words or ("nothing",))
    return f"def {name}():\n{body}" + "".join(f"    step({name}, {i})\n" for i in range(MIN_LINES)) + "\n\n"


class Editor:
    """A project folder, what is open in it, and a clock."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now_s = 1000.0
        self.collector = ContextCollector(clock_s=lambda: self.now_s)

    def write(self, name: str, text: str) -> str:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return str(file)

    def open(self, name: str, text: str, root: Path | None = None, language: str = "python") -> None:
        self.collector.opened(name, str(self.root / name), language, text, str(root or self.root))

    def edit(self, name: str, text: str) -> None:
        self.collector.edited(name, text)

    def chunks(
        self, name: str, offset: int = 0, budget: int = BUDGET, allowed: Callable[[str], bool] = everything
    ) -> tuple[ContextChunk, ...]:
        return self.collector.chunks(name, offset, budget, allowed)

    def read_imports(self, name: str, allowed: Callable[[str], bool] = everything) -> None:
        self.collector.read_imports(name, allowed)


@pytest.fixture
def editor(tmp_path: Path) -> Editor:
    return Editor(tmp_path.resolve() / "project")


def cost(chunks: Iterable[ContextChunk]) -> int:
    return sum(Passage("", chunk).tokens for chunk in chunks)


def texts(chunks: Iterable[ContextChunk]) -> str:
    return "".join(chunk.text for chunk in chunks)


def test_what_is_most_like_the_text_round_the_cursor_comes_first_and_the_unlike_not_at_all(editor: Editor) -> None:
    editor.open("b.py", function("far", "alpha") + function("near", "invoice", "customer", "discount"))
    editor.open("c.py", function("nearer", "invoice", "customer", "discount", "currency"))
    editor.open("a.py", "invoice.customer.discount(currency)\n")
    assert [chunk.path for chunk in editor.chunks("a.py")] == ["c.py", "b.py"]
    assert "far" not in texts(editor.chunks("a.py"))


def test_a_word_that_everything_has_counts_little(editor: Editor) -> None:
    editor.open("b.py", "".join(function(f"f{i}", "common") for i in range(20)) + function("g", "common", "rare"))
    editor.open("a.py", "common(rare)\n")
    assert editor.chunks("a.py")[0].text.startswith("def g")


def test_paths_are_those_of_the_project_with_forward_slashes(editor: Editor) -> None:
    editor.open("sub/folder/b.py", function("f", "invoice"))
    editor.open("a.py", "invoice\n")
    assert [chunk.path for chunk in editor.chunks("a.py")] == ["sub/folder/b.py"]


def test_what_was_edited_lately_counts_even_if_it_is_unlike(editor: Editor) -> None:
    text = function("one", "alpha") + function("two", "beta") + function("three", "gamma")
    editor.open("b.py", text)
    editor.open("a.py", "something_else\n")
    assert editor.chunks("a.py") == ()
    editor.edit("b.py", text.replace("beta", "delta"))
    assert [chunk.text for chunk in editor.chunks("a.py")] == [function("two", "delta").rstrip() + "\n"]
    editor.edit("b.py", text.replace("beta", "delta").replace("gamma", "epsilon"))
    assert len(editor.chunks("a.py")) == 2
    editor.now_s += 3600
    editor.open("c.py", "")
    assert editor.chunks("a.py") == ()


def test_what_changed_goes_to_the_end_and_the_rest_stays(editor: Editor) -> None:
    names = ("one", "two", "three")
    documents = {f"{name}.py": function(name, "invoice", *["customer"] * i) for i, name in enumerate(names)}
    for name, text in documents.items():
        editor.open(name, text)
    editor.open("a.py", "invoice(customer)\n")
    before = editor.chunks("a.py")
    assert len(before) == 3
    editor.edit(before[0].path, documents[before[0].path].replace("invoice", "invoices"))
    after = editor.chunks("a.py")
    assert after[:2] == before[1:]
    assert after[2].path == before[0].path and "invoices" in after[2].text


def test_what_was_given_stays_unless_something_is_clearly_better(editor: Editor) -> None:
    editor.open("c.py", function("f", "invoice", "customer"))
    editor.open("a.py", "invoice(customer, discount, currency)\n")
    before = editor.chunks("a.py", budget=130)
    editor.open("b.py", function("g", "invoice", "customer"))
    assert len(before) == 1 and editor.chunks("a.py", budget=130) == before
    editor.open("d.py", function("h", "invoice", "customer", "discount", "currency"))
    assert [chunk.path for chunk in editor.chunks("a.py", budget=130)] == ["d.py"]


def test_a_smaller_budget_now_and_then_disturbs_nothing(editor: Editor) -> None:
    for name in ("b", "c", "d"):
        editor.open(f"{name}.py", function(name, "invoice"))
    editor.open("a.py", "invoice\n")
    editor.chunks("a.py")
    editor.edit("b.py", function("b", "invoice", "customer"))
    before = editor.chunks("a.py")
    assert [chunk.path for chunk in before] == ["c.py", "d.py", "b.py"]
    assert editor.chunks("a.py", budget=cost(before[:1])) == before[:1]
    assert editor.chunks("a.py") == before


def test_what_fits_is_given_where_something_better_does_not(editor: Editor) -> None:
    editor.open("b.py", function("f", "invoice", "customer", "discount", "currency"))
    editor.open("c.py", function("g", "invoice"))
    editor.open("a.py", "invoice(customer, discount, currency)\n")
    better, worse = editor.chunks("a.py")
    assert (better.path, worse.path) == ("b.py", "c.py")
    editor.open("a.py", "invoice(customer, discount, currency)\n")
    assert editor.chunks("a.py", budget=cost([worse])) == (worse,)


def test_what_is_refused_takes_nobodys_place(editor: Editor) -> None:
    better = "".join(function(f"f{i}", "invoice", "customer") for i in range(200))
    editor.open("b.py", better)
    editor.open("c.py", function("g", "invoice"))
    editor.open("a.py", "invoice(customer)\n")
    assert [chunk.path for chunk in editor.chunks("a.py", allowed=but("b.py"))] == ["c.py"]


def test_a_word_being_typed_finds_nothing_before_the_cursor_goes_elsewhere(editor: Editor) -> None:
    editor.open("b.py", function("f", "invoice"))
    editor.open("c.py", function("g", "weather", "forecast"))
    editor.open("a.py", "invoice\n\n")
    before = editor.chunks("a.py", 9)
    editor.edit("a.py", "invoice\nweather(forecast)\n")
    assert editor.chunks("a.py", 25) == before
    editor.edit("a.py", "invoice\nweather(forecast)" + "\n" * 50)
    assert [chunk.path for chunk in editor.chunks("a.py", 75)] == ["b.py", "c.py"]


def test_a_line_counts_as_repeated_once_the_cursor_has_left_it(editor: Editor) -> None:
    editor.open("b.py", "invoice = customer(1)\ncustomer = invoice(2)\n")
    editor.open("a.py", "invoice customer\n\n\n")
    assert len(editor.chunks("a.py", 17)) == 1
    text = "invoice customer\ninvoice = customer(1)\n\n"
    editor.edit("a.py", text)
    assert len(editor.chunks("a.py", 38)) == 1
    assert len(editor.chunks("a.py", 39)) == 0


@pytest.mark.parametrize(("distance", "count"), [(LINES_BEFORE, 0), (LINES_BEFORE + 1, 1)])
def test_how_far_above_text_counts_as_round_the_cursor(editor: Editor, distance: int, count: int) -> None:
    editor.open("b.py", "invoice = customer(1)\n")
    editor.open("a.py", "invoice = customer(1)" + "\n" * distance + "invoice(customer)")
    assert len(editor.chunks("a.py", 10_000)) == count


@pytest.mark.parametrize(("distance", "count"), [(LINES_AFTER, 0), (LINES_AFTER + 1, 1)])
def test_how_far_below_text_counts_as_round_the_cursor(editor: Editor, distance: int, count: int) -> None:
    editor.open("b.py", "invoice = customer(1)\n")
    editor.open("a.py", "invoice(customer)" + "\n" * distance + "invoice = customer(1)")
    assert len(editor.chunks("a.py", 3)) == count


def test_a_cursor_far_away_finds_other_chunks(editor: Editor) -> None:
    editor.open("b.py", function("f", "invoice") + function("g", "weather"))
    text = "invoice\n" + "\n" * 300 + "weather\n"
    editor.open("a.py", text)
    assert "invoice" in texts(editor.chunks("a.py", 0))
    assert "weather" in texts(editor.chunks("a.py", len(text)))


def test_text_round_the_cursor_is_not_repeated_once_it_is_pasted(editor: Editor) -> None:
    passage = function("f", "invoice", "customer", "discount")
    editor.open("b.py", passage)
    editor.open("a.py", "invoice\n\n")
    assert len(editor.chunks("a.py")) == 1
    editor.edit("a.py", "invoice\n\n" + passage)
    assert editor.chunks("a.py") == ()


def test_the_same_text_in_two_files_is_given_once(editor: Editor) -> None:
    for name in ("b.py", "c.py"):
        editor.open(name, function("f", "invoice", "customer"))
    editor.open("a.py", "invoice(customer)\n")
    assert len(editor.chunks("a.py")) == 1


def test_closed_documents_and_other_projects_give_nothing(editor: Editor, tmp_path: Path) -> None:
    editor.open("b.py", function("f", "invoice"))
    editor.open("c.py", function("g", "invoice"), root=tmp_path / "other")
    editor.open("a.py", "invoice\n")
    assert [chunk.path for chunk in editor.chunks("a.py")] == ["b.py"]
    editor.collector.closed("b.py")
    editor.collector.closed("b.py")
    assert editor.chunks("a.py") == ()


def test_a_file_is_no_context_for_itself_under_another_name(editor: Editor) -> None:
    editor.write("a.py", "")
    (editor.root / "link.py").symlink_to(editor.root / "a.py")
    for name in ("a.py", "link.py"):
        editor.open(name, "invoice\n" + "\n" * 200 + function("f", "invoice"))
    assert editor.chunks("a.py") == ()


def test_an_unsaved_document_gives_and_takes(editor: Editor) -> None:
    editor.collector.opened("u", "Untitled-1", "python", function("f", "invoice"), str(editor.root))
    editor.open("a.py", "invoice\n")
    assert [chunk.path for chunk in editor.chunks("a.py")] == ["Untitled-1"]
    editor.edit("a.py", function("g", "invoice"))
    assert [chunk.path for chunk in editor.chunks("u")] == ["a.py"]
    editor.read_imports("u")


def test_unknown_documents_and_impossible_cursors_are_no_error(editor: Editor) -> None:
    assert editor.chunks("nothing.py") == ()
    editor.edit("nothing.py", "x")
    editor.read_imports("nothing.py")
    editor.open("b.py", function("f", "invoice"))
    editor.open("a.py", "invoice")
    for offset in (-5, 0, 7, 5000):
        assert len(editor.chunks("a.py", offset)) == 1
    assert editor.chunks("a.py", budget=0) == ()


def test_what_no_person_writes_gives_nothing(editor: Editor) -> None:
    editor.open("long_line.py", "invoice = [" + "1, " * 300_000 + "]\n" + "invoice " * 1000)
    editor.open("huge.py", function("f", "invoice") * 2000)
    editor.open("a.py", "invoice\n")
    assert editor.chunks("a.py") == ()
    assert editor.chunks("long_line.py", 500_000) == ()


LONG = "import os\n\n\n" + "".join(function(f"used_{i}", "invoice", f"secret_{i}") for i in range(10))


def test_a_short_imported_file_is_read_whole_and_a_long_one_as_signatures(editor: Editor) -> None:
    editor.write("short.py", function("f", "invoice"))
    editor.write("long.py", LONG)
    editor.open("a.py", "from long import used_1\nimport short\n\ninvoice(used_1)\n")
    assert editor.chunks("a.py") == ()
    editor.read_imports("a.py")
    chunks = editor.chunks("a.py")
    assert {chunk.path for chunk in chunks} == {"short.py", "long.py"}
    assert "load_f(invoice)" in texts(chunks)
    assert "def used_9():" in texts(chunks) and "secret_9" not in texts(chunks)


def test_an_imported_file_is_read_as_the_editor_has_it(editor: Editor) -> None:
    editor.write("b.py", function("on_disk", "invoice"))
    editor.open("b.py", function("in_editor", "invoice"))
    editor.open("a.py", "import b\n")
    editor.read_imports("a.py")
    assert "in_editor" in texts(editor.chunks("a.py")) and "on_disk" not in texts(editor.chunks("a.py"))
    editor.edit("b.py", function("typed_since", "invoice"))
    editor.read_imports("a.py")
    assert "typed_since" in texts(editor.chunks("a.py")) and "in_editor" not in texts(editor.chunks("a.py"))


def test_an_imported_file_that_changed_on_disk_is_read_again_and_one_that_is_gone_is_left_out(editor: Editor) -> None:
    file = editor.write("b.py", function("first", "invoice"))
    editor.open("a.py", "import b\ninvoice\n")
    editor.read_imports("a.py")
    assert "first" in texts(editor.chunks("a.py"))
    editor.write("b.py", function("second_version", "invoice"))
    editor.read_imports("a.py")
    assert "second_version" in texts(editor.chunks("a.py")) and "first" not in texts(editor.chunks("a.py"))
    Path(file).unlink()
    editor.read_imports("a.py")
    assert editor.chunks("a.py") == ()


def test_an_unchanged_import_is_read_once(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    editor.write("b.py", function("f", "invoice"))
    editor.open("a.py", "import b\n")
    read = []

    def noted(file: str) -> str:
        read.append(file)
        return read_text(file)

    monkeypatch.setattr(context, "read_text", noted)
    for _ in range(3):
        editor.read_imports("a.py")
    assert read == [str(editor.root / "b.py")]


def test_imports_are_looked_for_at_line_ends_and_in_pauses(editor: Editor) -> None:
    for name in ("b", "c"):
        editor.write(f"{name}.py", function(name, "invoice"))
    editor.open("a.py", "import b\n")
    editor.read_imports("a.py")
    before = editor.chunks("a.py")
    assert [chunk.path for chunk in before] == ["b.py"]
    editor.edit("a.py", "import b, c\n")
    editor.read_imports("a.py")
    assert editor.chunks("a.py") == before
    editor.edit("a.py", "import b, c\n\n")
    editor.read_imports("a.py")
    after = editor.chunks("a.py")
    assert after[:1] == before and [chunk.path for chunk in after[1:]] == ["c.py"]
    editor.edit("a.py", "import c\n\n")
    editor.now_s += 2
    editor.read_imports("a.py")
    assert [chunk.path for chunk in editor.chunks("a.py")] == ["c.py"]


def test_nothing_outside_the_project_is_read(editor: Editor, tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text(function("f", "invoice"))
    editor.write("sub/x.py", "")
    (editor.root / "link.py").symlink_to(outside)
    (editor.root / "folder").symlink_to(tmp_path)
    for text in ("import link\n", "from folder import outside\n", "from .. import outside\n", "import outside\n"):
        editor.open("sub/a.py", text)
        editor.read_imports("sub/a.py")
        assert editor.chunks("sub/a.py") == ()


def test_a_refused_file_is_never_opened(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    editor.write("b.py", function("f", "invoice"))
    editor.write("c.py", function("g", "invoice"))
    editor.open("a.py", "import b, c\n")
    monkeypatch.setattr(context, "read_text", lambda file: pytest.fail(f"opened {file}"))
    editor.read_imports("a.py", but("b.py", "c.py"))
    assert editor.chunks("a.py") == ()


def test_a_file_refused_from_now_on_is_not_opened_again(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    editor.write("b.py", function("f", "invoice"))
    editor.open("a.py", "import b\n")
    editor.read_imports("a.py")
    editor.edit("a.py", "import b  # edited\n")
    editor.write("b.py", function("g", "invoice", "customer"))
    monkeypatch.setattr(context, "read_text", lambda file: pytest.fail(f"opened {file}"))
    editor.read_imports("a.py", but("b.py"))
    assert editor.chunks("a.py") == ()


def test_a_huge_import_is_not_opened(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    editor.write("b.py", function("f", "invoice") * 2000)
    editor.open("a.py", "import b\n")
    monkeypatch.setattr(context, "read_text", lambda file: pytest.fail(f"opened {file}"))
    editor.read_imports("a.py")
    assert editor.chunks("a.py") == ()


def test_a_go_mod_that_is_refused_is_not_opened(editor: Editor) -> None:
    editor.write("go.mod", "module m\n")
    editor.write("pkg/b.go", "package pkg\n\n" + "func Invoice() {}\n" * 3)
    editor.open("a.go", 'package main\n\nimport "m/pkg"\n', language="go")
    editor.read_imports("a.go", but("go.mod"))
    assert editor.chunks("a.go") == ()
    editor.now_s += 2
    editor.read_imports("a.go")
    assert [chunk.path for chunk in editor.chunks("a.go")] == ["pkg/b.go"]


def test_what_is_refused_from_now_on_is_gone_at_once(editor: Editor) -> None:
    editor.write("c.py", function("g", "invoice"))
    editor.open("b.py", function("f", "invoice"))
    editor.open("a.py", "import c\ninvoice\n")
    editor.read_imports("a.py")
    assert {chunk.path for chunk in editor.chunks("a.py")} == {"b.py", "c.py"}
    assert [chunk.path for chunk in editor.chunks("a.py", allowed=but("b.py"))] == ["c.py"]
    assert [chunk.path for chunk in editor.chunks("a.py", allowed=but("c.py"))] == ["b.py"]


def test_what_is_imported_but_no_text_is_left_out(editor: Editor) -> None:
    editor.write("b.py", "")
    (editor.root / "b.py").write_bytes(b"\0\1invoice")
    (editor.root / "c.py").write_bytes(b"\xff\xfe")
    editor.open("a.py", "import b, c\n")
    editor.read_imports("a.py")
    assert editor.chunks("a.py") == ()


LINES = st.sampled_from(
    ["", "", "    pass", "import zlib", "total = add_line(item)", "    return invoice_of(customer)"]
    + [f"{indent}{word} = {other}({word}, {i})" for i, (word, other) in enumerate(
        [("invoice", "load"), ("customer", "save"), ("discount", "apply"), ("currency", "convert"), ("é", "ü")]
    ) for indent in ("", "    ")]
)  # fmt: skip
TEXTS = st.lists(LINES, max_size=60).map("\n".join)
NAMES = st.sampled_from([f"{letter}.py" for letter in "abcde"])
OPERATIONS = st.one_of(
    st.tuples(st.just("open"), NAMES, TEXTS),
    st.tuples(st.just("edit"), NAMES, TEXTS),
    st.tuples(st.just("close"), NAMES, st.just("")),
    st.tuples(st.just("wait"), NAMES, st.just("")),
)


def lines_round(text: str, offset: int) -> set[str]:
    """Written without looking: the lines near the cursor, but for its own, if they say anything."""
    lines, own = text.split("\n"), text[:offset].count("\n")
    near = lines[max(0, own - LINES_BEFORE) : own] + lines[own + 1 : own + 1 + LINES_AFTER]
    return {line.strip() for line in near if len(line.strip()) >= 8}


@settings(deadline=None)
@given(
    operations=st.lists(OPERATIONS, max_size=12),
    current=TEXTS,
    refused=st.sets(NAMES, max_size=2),
    budgets=st.lists(st.integers(0, 1200), min_size=1, max_size=3),
    data=st.data(),
)
def test_whatever_happens_the_promises_hold(
    operations: list[tuple[str, str, str]], current: str, refused: set[str], budgets: list[int], data: st.DataObject
) -> None:
    editor = Editor(Path("/project"))
    editor.open("current.py", current)
    for action, name, text in [*operations, ("wait", "", "")]:
        if action == "open":
            editor.open(name, text)
        elif action == "edit":
            editor.edit(name, text)
        elif action == "close":
            editor.collector.closed(name)
        editor.now_s += 400 if action == "wait" else 1
        offset = data.draw(st.integers(0, len(current)), "offset")
        given_for = {budget: editor.chunks("current.py", offset, budget, but(*refused)) for budget in budgets}
        for budget, chunks in given_for.items():
            assert cost(chunks) <= budget
            assert not {chunk.path for chunk in chunks} & {*refused, "current.py"}
            near = lines_round(current, offset)
            for chunk in chunks:
                own = {line.strip() for line in chunk.text.split("\n") if len(line.strip()) >= 8}
                assert 2 * len(own & near) < len(own)
                near |= own
        largest = editor.chunks("current.py", offset, max(budgets), but(*refused))
        for budget in budgets:
            smaller = editor.chunks("current.py", offset, budget, but(*refused))
            assert smaller == largest[: len(smaller)]


@settings(deadline=None)
@given(
    others=st.lists(TEXTS, min_size=1, max_size=4),
    current=TEXTS,
    typed=st.one_of(st.text(st.characters(blacklist_characters="\n"), min_size=1, max_size=12), LINES.filter(bool)),
    budget=st.integers(0, 1200),
    data=st.data(),
)
def test_typing_within_a_line_changes_nothing(
    others: list[str], current: str, typed: str, budget: int, data: st.DataObject
) -> None:
    editor = Editor(Path("/project"))
    for i, text in enumerate(others):
        editor.open(f"{i}.py", text)
    editor.open("current.py", current)
    offset = data.draw(st.integers(0, len(current)), "offset")
    before = editor.chunks("current.py", offset, budget)
    for i, character in enumerate(typed):
        current = current[: offset + i] + character + current[offset + i :]
        editor.edit("current.py", current)
        editor.now_s += 100
        assert editor.chunks("current.py", offset + i + 1, budget) == before


@given(st.lists(LINES | st.just("x" * 300), max_size=60).map("\n".join), st.booleans())
def test_passages_are_the_text_in_pieces(text: str, has_windows_line_ends: bool) -> None:
    pieces = split(text.replace("\n", "\r\n") if has_windows_line_ends else text)
    assert [line for line in "".join(pieces).split("\n") if line.strip()] == [x for x in text.split("\n") if x.strip()]
    for piece in pieces:
        assert piece.endswith("\n") and not piece.endswith("\n\n") and piece.strip()
        assert piece.count("\n") <= MAX_LINES and len(piece) <= MAX_CHARS


def test_a_class_is_cut_between_its_methods_and_a_method_not_within() -> None:
    method = "    def method(self):\n        first()\n\n        second()\n" + "        third()\n" * 8 + "\n"
    pieces = split("class A:\n    x = 1\n\n" + method * 4)
    assert pieces[-1] == method.rstrip() + "\n"
    assert pieces[-2] == pieces[-1]


@given(st.integers(0, 9), st.sampled_from(["    added = 1\n", "\n", "added = 1\n\n\n"]))
def test_an_edit_leaves_the_passages_elsewhere_as_they_were(at: int, added: str) -> None:
    functions = [function(f"f{i}", "word") for i in range(10)]
    edited = "".join(functions[:at]) + functions[at].replace("\n", f"\n{added}", 1) + "".join(functions[at + 1 :])
    untouched = {text.rstrip() + "\n" for i, text in enumerate(functions) if i != at}
    assert untouched <= set(split(edited))
