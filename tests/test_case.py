"""Cases of post-processing: written from a completion, read back by the golden tests."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from completer.case import CURSOR, Case, case_of, read_cases, write_cases
from completer.errors import InputError
from completer.request import CompletionRequest
from tests.test_cli_complete import ScriptedEngine, invoke

TEXT = st.text(st.sampled_from("a\\\"'\n\r\t #é\u0301𝒳👋\x00\x1f\x7f\u2028") | st.characters(exclude_categories=["Cs"]))
DOCUMENT = TEXT.map(lambda text: text.replace(CURSOR, ""))


@given(st.lists(st.builds(Case, TEXT, st.just("c"), DOCUMENT, DOCUMENT, TEXT, TEXT, st.just("block")), min_size=1))
def test_what_is_written_is_read_back(cases: list[Case]) -> None:
    assert read_cases(write_cases(cases)) == cases


def test_a_case_is_made_for_reading() -> None:
    case = Case("it's", "python", 'print("', '")\r\n', "a\\b", "a", "line")
    assert write_cases([case]) == (
        '[[case]]\nname = "it\'s"\nlanguage = "python"\nmode = "line"\n'
        f'document = """\nprint("{CURSOR}")\\r\n"""\ncompletion = "a\\\\b"\nexpected = "a"\n'
    )


@pytest.mark.parametrize(("completion", "outcome"), [("x)", 'expected = "x"'), ("", '"discard"'), ("x", '"unchanged"')])
def test_a_completion_becomes_a_case_expected_as_it_is_shown_today(completion: str, outcome: str) -> None:
    request = CompletionRequest("import re\nprint(", ")\n", path="/home/me/app.py", language="python", mode="line")
    case = case_of(request, completion)
    assert (case.name, case.language, case.mode) == ("app.py:2:7", "python", "line")
    assert (case.fim_prefix, case.fim_suffix) == (request.fim_prefix, request.fim_suffix)
    assert outcome in write_cases([case])


def test_complete_writes_a_case_of_each_alternative(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = "def f():\r\n    print()\r\n"
    (tmp_path / "app.py").write_bytes(text.encode())
    engine, out = ScriptedEngine(["1", ")"], ["2"]), tmp_path / "new" / "case.toml"
    place = f"{tmp_path / 'app.py'}:2:11"
    result = invoke(monkeypatch, engine, place, "--n", "2", "--temperature", "1", "--mode", "line", "--case", out)
    assert result.exit_code == 0
    cases = read_cases(out.read_text("utf-8"))
    assert [(case.completion, case.expected) for case in cases] == [("1)", "1"), ("2", "2")]
    assert {case.fim_prefix + case.fim_suffix for case in cases} == {text}


def test_the_mark_of_the_cursor_cannot_be_in_the_text() -> None:
    with pytest.raises(InputError, match="marks the cursor"):
        write_cases([Case("", "python", f"x = '{CURSOR}'", "", "", "")])


def test_a_text_that_cannot_be_a_case_is_refused_before_the_model_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file, engine = tmp_path / "a.py", ScriptedEngine(["x"])
    file.write_text(f"bar = '{CURSOR}'\n", "utf-8")
    with pytest.raises(InputError, match="marks the cursor"):
        invoke(monkeypatch, engine, file, "--case", tmp_path / "c.toml", standalone_mode=False)
    assert engine.request is None


@pytest.mark.parametrize(
    "line",
    ['document = "x"', 'language = ""', 'outcome = "wrong"', f'document = "{CURSOR}{CURSOR}"'],
)
def test_a_case_that_says_too_little_is_named(line: str) -> None:
    keys = {"name": '"n"', "language": '"c"', "document": f'"{CURSOR}"', "completion": '"x"', "outcome": '"discard"'}
    key, _, value = line.partition(" = ")
    toml = "[[case]]\n" + "\n".join(f"{name} = {text}" for name, text in (keys | {key: value}).items())
    with pytest.raises(InputError, match="case n: it needs"):
        read_cases(toml)
