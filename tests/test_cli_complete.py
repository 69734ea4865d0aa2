"""`completer complete`: what reaches the engine, what is printed, and every bad input."""

import json
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from completer import complete_command
from completer.cli import cli, run
from completer.config import Config
from completer.errors import ModelCorrupt, ModelError
from completer.models.tokenizer import Tokenizer
from completer.planner import FixedPlanner
from completer.request import CompletionChunk, CompletionRequest, CompletionResult, PhaseMs, SourceCounts

Run = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[..., subprocess.Popen[str]]


class ScriptedEngine:
    """Answers with the chunks it was given, and keeps what it was asked."""

    def __init__(self, *alternatives: list[str]) -> None:
        self.alternatives = alternatives
        self.config: Config | None = None
        self.request: CompletionRequest | None = None
        self.planner: FixedPlanner | None = None

    def complete(
        self, request: CompletionRequest, planner: FixedPlanner, cancelled: Callable[[], bool]
    ) -> Iterator[CompletionChunk]:
        self.request, self.planner = request, planner
        for number, texts in enumerate(self.alternatives):
            for text in texts:
                yield CompletionChunk(text, number)
            result = CompletionResult(
                text="".join(texts),
                tokens=5,
                rounds=2,
                mean_acceptance_length=2.5,
                ttft_ms=10.0,
                tpot_ms=3.0,
                first_line_ms=15.0,
                total_ms=22.0,
                ms=PhaseMs(prefill=1.0),
                sources={"ngram": SourceCounts(2, 4, 3)},
                stop_reason="line",
            )
            yield CompletionChunk("", number, result)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "app.py"
    path.write_bytes(b"def f():\r\n    return \r\n")
    return path


def invoke(monkeypatch: pytest.MonkeyPatch, engine: ScriptedEngine, *arguments: str | Path, **options: Any) -> Result:
    def load(config: Config) -> ScriptedEngine:
        engine.config = config
        return engine

    monkeypatch.setattr(complete_command, "load_engine", load)
    return CliRunner().invoke(cli, ["complete", *map(str, arguments)], catch_exceptions=False, **options)


def test_the_request_is_the_file_cut_at_the_cursor_line_ends_untouched(
    monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    engine = ScriptedEngine(["1"])
    result = invoke(monkeypatch, engine, f"{file}:2:12", "--mode", "line", "--max-tokens", "9", "--k", "3")
    assert result.exit_code == 0
    assert engine.request == CompletionRequest(
        fim_prefix="def f():\r\n    return ",
        fim_suffix="\r\n",
        document_id=str(file),
        path=str(file),
        language="python",
        mode="line",
        max_tokens=9,
    )
    assert engine.planner == FixedPlanner(("previous_suggestion", "ngram"), 3, 0.4)


def test_flags_reach_the_configuration_of_the_engine(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    engine = ScriptedEngine(["1"])
    invoke(monkeypatch, engine, file, "--target", "t", "--draft", "none", "--exact", "native", "--source", "none")
    assert engine.config is not None and engine.planner == FixedPlanner((), 0)
    assert (engine.config.model.target, engine.config.model.draft) == ("t", "none")
    assert engine.config.speculation.exact == "native"


def test_standard_input_has_no_path_and_the_language_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ScriptedEngine(["1"])
    invoke(monkeypatch, engine, "-:1:2", "--language", "go", input="\ufeffab\ncd".encode())
    request = engine.request
    assert request is not None
    assert (request.fim_prefix, request.fim_suffix, request.path, request.language) == ("a", "b\ncd", "", "go")


def test_text_goes_to_stdout_ended_with_a_line_end_and_numbers_to_stderr(
    monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    result = invoke(monkeypatch, ScriptedEngine(["a +", " 'é'\r\n", "b"]), file)
    assert result.stdout_bytes == "a + 'é'\r\nb\n".encode()
    assert result.stderr == (
        "5 tokens in 22 ms, the first after 10 ms, then 3.0 ms a token; 2 rounds of 2.50 tokens "
        "(drafts accepted: ngram 3 of 4); stopped by line\n"
    )


def test_an_empty_completion_prints_nothing_and_a_finished_line_is_not_ended_twice(
    monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    assert invoke(monkeypatch, ScriptedEngine([""]), file).stdout_bytes == b""
    assert invoke(monkeypatch, ScriptedEngine(["x\n", ""]), file).stdout_bytes == b"x\n"


def test_json_is_one_document_with_the_exact_text(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    result = invoke(monkeypatch, ScriptedEngine(["a\r\n", "é"]), file, "--json")
    document = json.loads(result.stdout)
    assert result.stderr == ""
    assert document == {
        "text": "a\r\né",
        "tokens": 5,
        "rounds": 2,
        "mean_acceptance_length": 2.5,
        "ttft_ms": 10.0,
        "tpot_ms": 3.0,
        "first_line_ms": 15.0,
        "total_ms": 22.0,
        "prompt_tokens": 0,
        "cached_tokens": 0,
        "ms": {"prefill": 1.0, "draft": 0.0, "verify": 0.0, "sample": 0.0, "schedule": 0.0},
        "sources": {"ngram": {"rounds": 2, "drafted": 4, "accepted": 3}},
        "stop_reason": "line",
        "is_brief": False,
    }


def test_alternatives_follow_one_another_each_with_its_numbers(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    engine = ScriptedEngine(["a"], ["b\n"], ["c"])
    result = invoke(monkeypatch, engine, file, "--n", "3", "--seed", "7", "--top-p", "0.9")
    assert result.stdout == "a\nb\nc\n"
    assert [line.partition(": ")[0] for line in result.stderr.splitlines()] == ["1 of 3", "2 of 3", "3 of 3"]
    assert engine.request is not None and engine.request.n == 3 and engine.request.sampling is not None
    assert (engine.request.sampling.temperature, engine.request.sampling.top_p, engine.request.sampling.seed) == (
        0.8,
        0.9,
        7,
    )


def test_json_of_alternatives_lists_them_all_and_leads_with_the_first(
    monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    document = json.loads(invoke(monkeypatch, ScriptedEngine(["a"], ["b"]), file, "--n", "2", "--json").stdout)
    assert document["text"] == "a"
    assert [alternative["text"] for alternative in document["alternatives"]] == ["a", "b"]


def test_an_error_in_mid_stream_keeps_what_was_printed_and_ends_its_line(
    monkeypatch: pytest.MonkeyPatch, file: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    class Failing(ScriptedEngine):
        def complete(self, *arguments: Any) -> Iterator[CompletionChunk]:
            yield CompletionChunk("half a li")
            raise ModelError("the model broke")

    monkeypatch.setattr(complete_command, "load_engine", lambda config: Failing())
    assert run(["complete", str(file)]) == 1
    assert capfdbinary.readouterr() == (b"half a li\n", b"completer: the model broke\n")


def test_the_log_has_the_numbers_and_neither_text_nor_path(
    monkeypatch: pytest.MonkeyPatch, file: Path, tmp_path: Path
) -> None:
    from completer.paths import log_file

    invoke(monkeypatch, ScriptedEngine(["secret"]), file)
    logged = log_file().read_text()
    assert "5 tokens in 22 ms" in logged
    assert "secret" not in logged and file.name not in logged and "return" not in logged


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--temperature", "0"], "--temperature 0.0 is not possible"),
        (["--temperature", "nan"], "--temperature nan is not possible"),
        (["--temperature", "inf"], "--temperature inf is not possible"),
        (["--top-p", "1.5", "--temperature", "1"], "--top-p 1.5 is not possible"),
        (["--top-k", "5"], "--top-k needs --temperature"),
        (["--seed", "5"], "--seed needs --temperature"),
        (["--n", "0"], "0 is not in the range"),
        (["--max-tokens", "0"], "'0' is not allowed"),
        (["--mode", "novel"], "'novel' is not allowed: it must be one of auto, line, block, text"),
    ],
)
def test_flags_that_make_no_sense_are_usage_errors(completer: Run, file: Path, arguments: list[str], told: str) -> None:
    assert_one_line(completer("complete", file, *arguments), 2, told)


@pytest.mark.parametrize(
    ("name", "content", "place", "told"),
    [
        ("gone.py", None, "", "no such file: "),
        ("binary.py", b"\x7fELF\0\0", "", "is not text: it has a NUL byte at offset 4"),
        ("latin.py", b"# caf\xe9\n", "", "is not UTF-8 text: byte 0xe9 at offset 5"),
        ("surrogate.py", b"a = '\xed\xa0\xbd\xed\xb8\x80'\n", "", "is not UTF-8 text: byte 0xed at offset 5"),
        ("large.py", b"x = 1\n" * 9_000_000, "", "is larger than 2 MB"),
        ("short.py", b"x = 1\n", ":3", "has no line 3; it has 2"),
        ("short.py", b"x = 1\n", ":1:7", "has no column 7; its columns go from 1 to 6"),
        ("emoji.py", "'😀'\n".encode(), ":1:5", "has no column 5; its columns go from 1 to 4"),
        ("short.py", b"x = 1\n", "", "completer models pull"),
    ],
)
def test_what_cannot_be_completed_is_one_line(
    completer: Run, tmp_path: Path, name: str, content: bytes | None, place: str, told: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert_one_line(completer("complete", name + place), 1, told)


def test_a_folder_is_no_file(completer: Run, tmp_path: Path) -> None:
    assert_one_line(completer("complete", tmp_path), 1, "is a folder")


def test_a_target_that_is_not_there_is_named(completer: Run, file: Path, tmp_path: Path) -> None:
    assert_one_line(completer("complete", file, "--target", tmp_path / "gone"), 1, "gone")


def test_a_corrupt_model_is_named(completer: Run, file: Path, tiny_model: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for part in tiny_model.iterdir():
        (broken / part.name).write_bytes(part.read_bytes())
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    assert_one_line(completer("complete", file, "--target", broken), 1, "broken")


def copy_with_config(tiny_model: Path, folder: Path, **changes: object) -> Path:
    shutil.copytree(tiny_model, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))
    return folder


@pytest.mark.parametrize(
    ("changes", "code", "told"),
    [
        ({"num_hidden_layers": 5}, 1, "its weights lack model.layers.2."),
        ({"intermediate_size": 256}, 1, "mlp.down_proj.weight in the shape that config.json asks for"),
        ({"eos_token_id": "x"}, 1, "cannot load the model in"),
        ({"model_type": "vit"}, 1, "cannot load the model in"),
        ({"model_type": "own", "auto_map": {"AutoConfig": "own.Config"}}, 1, "contains custom code"),
        ({"max_position_embeddings": "many"}, 1, "max_position_embeddings is 'many'"),
        ({"max_position_embeddings": 100}, 2, "has 100 positions, and max_tokens = 64 leaves too few"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_weights_that_are_not_what_the_configuration_says_are_one_line(
    capfd: pytest.CaptureFixture[str], file: Path, tiny_model: Path, tmp_path: Path,
    changes: dict[str, object], code: int, told: str,
) -> None:  # fmt: skip
    folder = copy_with_config(tiny_model, tmp_path / "changed", **changes)
    assert run(["complete", str(file), "--target", str(folder)]) == code
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1), err
    assert err.startswith("completer: ") and told in err


def test_a_tokenizer_with_ids_that_are_no_numbers_is_corrupt(tiny_model: Path) -> None:
    tokenizer = json.loads((tiny_model / "tokenizer.json").read_text())
    tokenizer["added_tokens"] = [{"id": "x", "content": "<a>"}]
    with pytest.raises(ModelCorrupt, match="is not a readable tokenizer"):
        Tokenizer(json.dumps(tokenizer))


def test_a_real_model_completes_a_real_file(completer: Run, file: Path, tiny_model: Path) -> None:
    arguments = ["complete", f"{file}:2:12", "--target", tiny_model, "--mode", "text", "--max-tokens", "8"]
    plain = json.loads(completer(*arguments, "--source", "none", "--json").stdout)
    document = json.loads(completer(*arguments, "--json").stdout)
    assert document["text"] == plain["text"] and document["tokens"] == plain["tokens"] == 8
    streamed = completer(*arguments)
    assert streamed.returncode == 0, streamed.stderr
    assert streamed.stdout.removesuffix("\n") == document["text"].removesuffix("\n")
    assert streamed.stderr.startswith("8 tokens in ")


@pytest.mark.parametrize("text", ["", "\ufeff", "x"])
def test_an_empty_or_tiny_text_is_completed(completer: Run, tiny_model: Path, text: str) -> None:
    result = completer(
        "complete", "-", "--language", "klingon", "--target", tiny_model, "--max-tokens", "4", input=text
    )
    assert result.returncode == 0, result.stderr


def test_ctrl_c_in_mid_stream_keeps_what_was_printed(start: Start, file: Path, tiny_model: Path) -> None:
    arguments = ["--target", tiny_model, "--mode", "text", "--max-tokens", "4096"]
    with start("complete", file, *arguments, "--temperature", "2", "--source", "none") as process:
        assert process.stdout is not None and process.stderr is not None
        first = process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        printed = first + process.stdout.read()
        told = process.stderr.read()
    assert process.returncode == 130
    assert first and printed.endswith("\n")
    assert "Traceback" not in told and "stopped by cancelled" in told


def test_a_full_disk_behind_stdout_is_one_line(start: Start, file: Path, tiny_model: Path) -> None:
    arguments = ["--target", tiny_model, "--mode", "text"]
    with Path("/dev/full").open("wb") as full, start("complete", file, *arguments, stdout=full) as process:
        _, told = process.communicate(timeout=120)
    assert process.returncode == 1
    assert told.splitlines()[-1] == "completer: No space left on device"


def assert_one_line(result: subprocess.CompletedProcess[str], code: int, told: str) -> None:
    assert (result.returncode, result.stdout) == (code, "")
    assert told in result.stderr
    assert result.stderr.startswith("completer: ") and result.stderr.count("\n") == 1


@pytest.mark.parametrize("name", [".env", "id_rsa", "deploy.pem", "private/notes.py"])
def test_what_may_hold_secrets_is_not_read(completer: Run, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("KEY = 1\n")
    (tmp_path / ".completerignore").write_text("private/\n")
    done = completer("complete", f"{file}:1")
    assert done.returncode == 1
    assert f"{file} is not read: " in done.stderr and "Traceback" not in done.stderr
