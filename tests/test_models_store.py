"""Models on disk: found by name or folder, never half, and every kind of damage named."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from completer import paths
from completer.errors import CompleterError, ModelCorrupt, ModelError, ModelNotInstalled
from completer.models import store
from completer.models.pull import pull_file
from completer.models.reporter import Silent
from completer.models_cli import models
from tests.tiny_gguf import tiny_weights, write_tiny_gguf
from tests.tiny_model import write_tiny_model


@pytest.fixture
def installed(tmp_path: Path) -> store.InstalledModel:
    return pull_file(write_tiny_gguf(tmp_path / "Tiny.gguf", tiny_weights("qwen2")), Silent())


def invoke(*arguments: str) -> str:
    """Standard output of `completer models ARGUMENTS`; raises its CompleterError."""
    result = CliRunner().invoke(models, arguments, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.stdout


def test_a_gguf_file_is_installed_under_its_own_name_and_stays_where_it_is(installed, tmp_path):
    assert installed.name == "tiny"
    assert (tmp_path / "Tiny.gguf").is_file()
    assert sorted(entry.name for entry in installed.folder.iterdir()) == [
        "completer.json",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]
    assert installed.template is not None
    assert installed.family == "qwen2.5-coder"
    assert installed.eos_ids == (installed.config["eos_token_id"],)
    assert installed.weight_bytes == (installed.folder / "model.safetensors").stat().st_size
    assert store.find("tiny") == installed
    store.check_content(installed)


def test_a_known_model_that_is_not_installed_names_its_pull():
    with pytest.raises(ModelNotInstalled, match="run `completer models pull qwen2.5-coder-1.5b`"):
        store.find("qwen2.5-coder-1.5b")


@pytest.mark.parametrize("name", ["nothing", "..", ".partial", "", "a/b"])
def test_what_is_no_model_is_named(name):
    paths.models_dir().mkdir(parents=True)
    with pytest.raises(CompleterError) as error:
        store.find(name)
    assert isinstance(error.value, ModelNotInstalled | ModelCorrupt)


def test_a_gguf_file_must_be_pulled_first(tmp_path):
    (tmp_path / "x.gguf").touch()
    with pytest.raises(ModelNotInstalled, match=r"run `completer models pull .*x\.gguf`"):
        store.find(str(tmp_path / "x.gguf"))


def test_a_hugging_face_folder_is_used_where_it_is(tiny_model):
    model = store.find(str(tiny_model))
    assert (model.folder, model.family) == (tiny_model, "qwen2.5-coder")
    store.check_content(model)
    assert store.installed_names() == []


def test_several_end_of_text_tokens(tiny_model, tmp_path):
    model = store.InstalledModel("x", tmp_path, None, {"eos_token_id": [3, 5]}, 0)
    assert model.eos_ids == (3, 5)


def damage_size(folder: Path) -> None:
    os.truncate(folder / "model.safetensors", 5000)


def damage_header(folder: Path) -> None:
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[8:40] = b"\xff" * 32
    (folder / "model.safetensors").write_bytes(data)


def damage_record(folder: Path) -> None:
    (folder / "completer.json").write_text("[]")


def empty_record(folder: Path) -> None:
    (folder / "completer.json").write_text('{"format_version": 1}')


def shorten_record(folder: Path) -> None:
    record = json.loads((folder / "completer.json").read_text())
    (folder / "completer.json").write_text(json.dumps(record | {"files": {"config.json": {}}}))


def nest_record(folder: Path) -> None:
    (folder / "completer.json").write_text("[" * 100_000)


def remove_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def remove_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def remove_record(folder: Path) -> None:
    (folder / "completer.json").unlink()


def age_record(folder: Path) -> None:
    record = json.loads((folder / "completer.json").read_text())
    (folder / "completer.json").write_text(json.dumps(record | {"format_version": 0}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_size, "model.safetensors has 5000 bytes instead of"),
        (damage_header, "model.safetensors is not a safetensors file"),
        (damage_record, "completer.json holds no object"),
        (empty_record, "completer.json does not say what its files must be"),
        (shorten_record, "completer.json does not say what its files must be"),
        (nest_record, "completer.json is not JSON"),
        (remove_weights, "model.safetensors is missing"),
        (remove_tokenizer, "tokenizer.json is missing"),
        (remove_record, "completer.json is missing"),
        (age_record, "another version of this program installed it"),
    ],
)
def test_damage_is_named_with_the_pull_that_mends_it(installed, damage, message):
    damage(installed.folder)
    with pytest.raises(ModelCorrupt, match=f"{message}.*; run `completer models pull tiny`"):
        store.find("tiny")


@pytest.mark.parametrize(
    ("damage", "message"),
    [(damage_size, "has 5000 bytes"), (damage_header, "not a safetensors"), (remove_weights, "no")],
)
def test_damage_to_a_foreign_folder_is_named_too(tmp_path, damage, message):
    folder = write_tiny_model(tmp_path / "foreign")
    damage(folder)
    with pytest.raises(ModelCorrupt, match=f"{message}.*copy it anew"):
        store.find(str(folder))


def test_one_changed_byte_is_found_by_the_full_check_only(installed):
    file = installed.folder / "model.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    model = store.find("tiny")
    with pytest.raises(ModelCorrupt, match="the content of model.safetensors has changed"):
        store.check_content(model)
    assert json.loads(invoke("list", "--json"))["models"][-1]["state"] == "installed"
    with pytest.raises(ModelCorrupt, match="has changed"):
        invoke("list", "--check")


def test_list_shows_known_and_own_models(installed):
    table = invoke("list").splitlines()
    assert table[0].split() == ["MODEL", "ROLE", "FIM", "STATE", "ON", "DISK", "DOWNLOAD", "MEMORY"]
    assert [line.split()[0] for line in table[1:]] == [
        "qwen2.5-coder-1.5b",
        "qwen2.5-coder-0.5b",
        "smollm2-135m",
        "tiny",
    ]
    assert "not installed" in table[1]
    row = json.loads(invoke("list", "--json"))["models"][-1]
    assert (row["name"], row["state"], row["fim"], row["role"]) == ("tiny", "installed", "verified", "own")
    assert row["disk_bytes"] == store.size_bytes(installed.folder)


def test_a_list_that_goes_into_a_pipe_is_whole_whatever_the_width_of_the_terminal(installed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    assert "qwen2.5-coder-1.5b" in invoke("list")


def test_list_shows_a_download_that_was_begun():
    partial = store.partial_folder_of("smollm2-135m")
    partial.mkdir(parents=True)
    (partial / "part-1.whl").write_bytes(b"12345")
    row = json.loads(invoke("list", "--json"))["models"][2]
    assert (row["state"], row["disk_bytes"]) == ("partial", 5)


def test_path_prints_the_folder(installed):
    assert invoke("path", "tiny") == f"{installed.folder}\n"


def test_remove_takes_the_model_and_its_downloads(installed):
    partial = store.partial_folder_of("tiny")
    partial.mkdir(parents=True)
    (partial / "part-1.whl").write_bytes(b"12345")
    invoke("remove", "tiny", "--yes")
    assert not installed.folder.exists()
    assert not partial.exists()
    with pytest.raises(ModelNotInstalled, match="nothing of a model 'tiny' to remove"):
        invoke("remove", "tiny", "--yes")


@pytest.mark.parametrize("name", ["", "..", ".", ".partial", "../models", "/"])
def test_remove_never_leaves_the_models_folder(installed, name):
    download = store.partial_folder_of("other") / "part-1.whl"
    download.parent.mkdir(parents=True)
    download.write_bytes(b"12345")
    with pytest.raises(ModelNotInstalled, match="nothing of a model"):
        invoke("remove", name, "--yes")
    assert store.find("tiny") == installed
    assert download.exists()


def test_remove_asks_first(installed):
    result = CliRunner().invoke(models, ["remove", "tiny"], input="n\n")
    assert result.exit_code == 1
    assert "Remove tiny, " in result.stderr
    assert store.find("tiny") == installed


def test_a_model_being_changed_cannot_be_changed_by_another(installed):
    with store.exclusive("tiny"), pytest.raises(ModelError, match="another process is pulling or removing tiny"):
        invoke("remove", "tiny", "--yes")
    invoke("remove", "tiny", "--yes")
