"""`completer eval`: problems, scores, the sandbox, and runs that go on where they ended."""

import json
import math
import shutil

import pytest
import torch
from click.testing import CliRunner
from transformers import AutoModelForCausalLM

from completer.errors import InputError
from completer.eval_command import evaluate
from completer.evaluation.elsewhere import elsewhere_problems
from completer.evaluation.problems import Problem, hole_problems, infilling_problems
from completer.evaluation.results import Results, differences, filters, read_results
from completer.evaluation.sandbox import FOLDER_BYTES, MEMORY_BYTES, passes
from completer.evaluation.scores import interval_of_difference, score
from completer.models.store import find
from completer.models.tokenizer import Tokenizer
from completer.prompt import PromptBudget
from completer.request import CompletionRequest
from completer.source_files import SourceFile, find_source_files

PYTHON = "import os\n\n\ndef first(value):\n    result = value + 1\n    return result\n\n\n" * 12


def problem(prefix: str, truth: str, suffix: str, language: str = "python") -> Problem:
    return Problem("p", "line", CompletionRequest(prefix, suffix, language=language, mode="line"), truth)


@pytest.mark.parametrize(("suite", "count"), [("single-line", 1033), ("multi-line", 5815)])
def test_every_infilling_problem_is_there_in_an_order_drawn_by_seed(suite: str, count: int) -> None:
    found = infilling_problems(suite, seed=1)
    assert len(found) == len({problem.id for problem in found}) == count
    assert [p.id for p in infilling_problems(suite, 1, 5)] == [p.id for p in found[:5]]
    assert [p.id for p in infilling_problems(suite, 2, 5)] != [p.id for p in found[:5]]
    assert all(p.request.fim_suffix.startswith("\n") and not p.truth.endswith("\n") for p in found)


def test_hole_classes_hold_what_they_say() -> None:
    file = SourceFile("a.py", "python", PYTHON)
    found = hole_problems([file], 1, PromptBudget(256, 64, 0), 24)
    by_kind: dict[str, list[Problem]] = {}
    for each in found:
        by_kind.setdefault(each.kind, []).append(each)
        request = each.request
        assert request.fim_prefix + each.truth + request.fim_suffix == PYTHON
    assert set(by_kind) == {"rest_of_line", "whole_line", "span", "block", "function"}
    assert all(p.request.fim_prefix.rstrip(" ").endswith("\n") for p in by_kind["whole_line"])
    assert all(not p.request.fim_prefix.rstrip(" ").endswith("\n") for p in by_kind["rest_of_line"])
    assert all(p.truth == "result = value + 1\n    return result" for p in by_kind["function"])
    assert all("\n" in p.truth for p in by_kind["span"])


def test_functions_are_found_in_languages_with_braces_too() -> None:
    text = (
        "int a;\n" * 20 + "static int twice(int x)\n{\n    int y = x;\n    return y + y;\n}\n\nif (a) {\n    b();\n}\n"
    )
    found = hole_problems([SourceFile("a.c", "c", text)], 1, PromptBudget(256, 64, 0), 4, {"function": 1})
    assert [p.truth for p in found] == ["int y = x;\n    return y + y;"]


def test_holes_elsewhere_name_what_only_another_file_defines_and_bring_its_text(tmp_path) -> None:
    (tmp_path / "shop.py").write_text("import os\n" * 20 + "def total_price(items):\n    return sum(items)\n")
    filler = "first_count = second_count = 1\n" * 20
    user = f"from shop import *\n{filler}sold = total_price(first_count)\n# total_value is no code, and used_twice\n"
    (tmp_path / "user.py").write_text(user)
    files = find_source_files([tmp_path], 1, lambda path, language: None)
    (found,) = elsewhere_problems(files, 1, 10, 256, lambda path: True)
    assert found.truth in ("sold = total_price(first_count)", "total_price(first_count)")
    assert found.request.fim_prefix + found.truth + found.request.fim_suffix == user
    assert [chunk.path for chunk in found.request.context_chunks] == ["shop.py"]
    assert "total_price" in found.request.context_chunks[0].text
    (refused,) = elsewhere_problems(files, 1, 10, 256, lambda path: "shop" not in path)
    assert refused.request.context_chunks == () and refused.truth == found.truth


def test_scores() -> None:
    exact = score(problem("x = ", "f(a)", "\n"), "f(a)  ")
    assert exact.exact and exact.first_line and exact.identifiers and exact.valid and not exact.empty
    other = score(problem("x = ", "f(a)", "\n"), "f( a )")
    assert not other.exact and other.identifiers and 0.7 < other.similarity < 1
    broken = score(problem("x = ", "f(a)", "\n"), "f(a")
    assert broken.valid is False
    nothing = score(problem("x = ", "f(a)", "\n"), " \n")
    assert nothing.empty and nothing.similarity < 0.5


def test_an_interval_holds_the_difference_and_shrinks_with_numbers() -> None:
    ours, theirs = [1.0, 1.0, 0.0, 1.0] * 25, [1.0, 0.0, 0.0, 1.0] * 25
    low, high = interval_of_difference(ours, theirs)
    assert 0.1 < low < 0.25 < high < 0.4
    wide = interval_of_difference(ours[:8], theirs[:8])
    assert wide[1] - wide[0] > high - low
    assert interval_of_difference(ours, ours) == (0.0, 0.0)


needs_sandbox = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap: apt install bubblewrap")


@needs_sandbox
@pytest.mark.parametrize(
    "program",
    [
        "x = 1",
        "import threading\nt = threading.Thread(target=print)\nt.start()\nt.join()",
        "open('x', 'w').write('its own folder')",
        "import os\nassert os.listdir('.') == []",
    ],
)
def test_what_a_program_may_do(program: str) -> None:
    assert passes(program)


@needs_sandbox
@pytest.mark.parametrize(
    "program",
    [
        "assert False",
        "syntax error",
        "import os\nos._exit(0)",
        "import sys\nsys.exit(0)",
        "import os\nos.fork()",
        "import subprocess\nsubprocess.run(['true'])",
        f"bytearray({MEMORY_BYTES})",
        f"f = open('x', 'wb')\nfor i in range({FOLDER_BYTES} // 1000000 + 2): f.write(bytes(1000000))",
        "open('/etc/completer-was-here', 'w')",
        "import os\nopen(os.path.expanduser('~/completer-was-here'), 'w')",
        "import socket\nsocket.create_connection(('127.0.0.1', 9), 1)",
    ],
)
def test_what_a_program_may_not_do(program: str) -> None:
    assert not passes(program)


@needs_sandbox
@pytest.mark.parametrize(
    "program", ["while True: pass", "import time\ntime.sleep(60)", "while True: print('x' * 1000)"]
)
def test_a_program_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr("completer.evaluation.sandbox.SECONDS", 0.5)
    assert not passes(program)


@needs_sandbox
def test_right_answers_pass_and_wrong_ones_do_not() -> None:
    for each in infilling_problems("single-line", 1, 8):
        assert passes(each.program(each.truth)), each.id
        assert not passes(each.program("    raise ValueError")), each.id


def outcome(id: str, pipeline: str, exact: bool, changed_by: tuple[str, ...] = ()) -> dict:
    scores = {"exact": exact, "passed": None, "first_line": exact, "identifiers": exact, "similarity": float(exact)}
    about = {"id": id, "kind": "line", "language": "python", "pipeline": pipeline, "tokens": 3, "ms": 1.0}
    return about | scores | {"valid": None, "empty": False, "stop_reason": "line", "changed_by": changed_by}


def test_a_run_goes_on_where_it_ended_even_in_the_middle_of_a_line(tmp_path) -> None:
    file = tmp_path / "run.jsonl"
    results = Results({"seed": 1}, file)
    results.add([outcome("a", "whole", True)])
    results.add([outcome("b", "whole", False)])
    file.write_text(file.read_text()[:-10])
    assert Results({"seed": 1}, file).done() == {"a"}
    with pytest.raises(InputError, match="another seed"):
        Results({"seed": 2}, file)
    (tmp_path / "other").write_text("{}\n[]\n")
    with pytest.raises(InputError, match="no results"):
        read_results(tmp_path / "other")


def test_runs_are_compared_on_the_problems_they_share() -> None:
    ours = [outcome(id, "whole", True) for id in "abcd"]
    theirs = [outcome(id, "whole", id == "b") for id in "bcde"]
    found = differences(ours, theirs)
    assert found["problems"] == 3
    assert found["exact"]["difference"] == pytest.approx(2 / 3)
    assert "passed" not in found


def test_filters_are_told_what_they_mend_and_what_they_spoil() -> None:
    outcomes = [
        outcome("a", "raw", False), outcome("a", "whole", True, ("cut",)),
        outcome("b", "raw", True), outcome("b", "whole", False, ("cut", "drop")),
    ]  # fmt: skip
    assert filters(outcomes) == {
        "cut": {"changed": 2, "mended": 1, "spoilt": 1},
        "drop": {"changed": 1, "mended": 0, "spoilt": 1},
    }


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text(PYTHON)
    return folder


def test_eval_holes_scores_resumes_and_compares(completer, tiny_model, project, tmp_path) -> None:
    out = tmp_path / "run.jsonl"
    arguments = ["eval", "holes", project, "--target", tiny_model, "--out", out, "--json"]
    done = completer(*arguments, "--limit", "3")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert sum(row["n"] for row in document["rows"] if row["pipeline"] == "plain") == 3
    before = out.read_text()
    assert "result" not in before  # scores, never text
    done = completer(*arguments, "--limit", "5")
    assert done.returncode == 0 and out.read_text().startswith(before)
    assert sum(row["n"] for row in json.loads(done.stdout)["rows"] if row["pipeline"] == "whole") == 5
    compared = CliRunner().invoke(evaluate, ["compare", f"{out}:whole", f"{out}:raw", "--json"])
    assert json.loads(compared.stdout)["problems"] == 5


def test_eval_elsewhere_compares_with_the_file_alone(completer, tiny_model, project, tmp_path) -> None:
    (project / "b.py").write_text("from a import *\n" + "x_1 = 1\n" * 20 + "y = second_value(x_1)\n")
    (project / "a.py").write_text(PYTHON + "def second_value(value):\n    return value\n")
    done = completer("eval", "elsewhere", project, "--target", tiny_model, "--json")
    assert done.returncode == 0, done.stderr
    whole, alone = json.loads(done.stdout)["rows"]
    assert (whole["pipeline"], alone["pipeline"]) == ("whole", "alone")
    assert whole["n"] == alone["n"] == 1 and whole["prompt_tokens"] > alone["prompt_tokens"]
    nothing = completer("eval", "elsewhere", project / "a.py", "--target", tiny_model)
    assert nothing.returncode == 1 and "no hole" in nothing.stderr


def test_eval_infilling_prints_a_table(completer, tiny_model) -> None:
    done = completer("eval", "infilling", "single-line", "--limit", "2", "--no-run", "--target", tiny_model)
    assert done.returncode == 0, done.stderr
    assert "single-line" in done.stdout and "whole" in done.stdout and "plain" in done.stdout


def test_perplexity_is_that_of_the_reference(completer, tiny_model, project) -> None:
    done = completer(
        "eval", "perplexity", project, "--target", tiny_model, "--dtype", "float32", "--tokens", "100", "--json"
    )
    assert done.returncode == 0, done.stderr
    folder = find(str(tiny_model)).folder
    ids = torch.tensor([Tokenizer.load(folder).encode(PYTHON)[:101]])
    reference = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.inference_mode():
        expected = float(reference(ids, labels=ids).loss)
    assert json.loads(done.stdout)["perplexity"] == pytest.approx(math.exp(expected), rel=1e-4)


@needs_sandbox
@pytest.mark.model("qwen2.5-coder-0.5b")
def test_the_pipeline_costs_no_quality_on_a_few_problems(completer, tmp_path) -> None:
    """A broken prompt, stop or filter shows here."""
    done = completer(
        "eval", "infilling", "single-line", "--limit", "12", "--pipeline", "whole", "--pipeline", "plain", "--json",
        "--target", "qwen2.5-coder-0.5b",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    passed = {row["pipeline"]: row["means"]["passed"] for row in json.loads(done.stdout)["rows"]}
    assert passed["whole"] >= 6 / 12
    assert passed["whole"] >= passed["plain"]
