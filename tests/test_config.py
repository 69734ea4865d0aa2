"""Settings: file, then environment, then flags; what is wrong is named."""

from pathlib import Path

import pytest

from completer.config import KEYS, Config, PrivacyConfig
from completer.config_source import ConfigSource
from completer.config_text import in_force, starter_file
from completer.draft.source import MAX_K
from completer.errors import ConfigError, UsageError
from completer.planner import SOURCES, fixed_planner


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def source(file: Path, text: str | None = None, **environ: str) -> ConfigSource:
    if text is not None:
        file.write_text(text, "utf-8")
    return ConfigSource(file, environ)


def test_without_a_file_every_setting_is_its_default(file: Path) -> None:
    assert source(file).load() == Config()


def test_environment_is_stronger_than_the_file_and_a_flag_stronger_than_both(file: Path) -> None:
    text = "[speculation]\nk = 3\nsource = 'ngram'\n[cache]\nslots = 2\n"
    loaded = source(file, text, COMPLETER_SPECULATION_K="5", COMPLETER_SPECULATION_SOURCE="none").read(
        {"speculation.k": 7, "model.target": None}
    )
    assert (loaded.config.speculation.k, loaded.config.speculation.source, loaded.config.cache.slots) == (7, "none", 2)
    assert loaded.origins == {
        "speculation.k": "flag",
        "speculation.source": "COMPLETER_SPECULATION_SOURCE",
        "cache.slots": str(file),
    }


@pytest.mark.parametrize(
    ("text", "environ", "told"),
    [
        ("[speculation]\nkk = 3\n", {}, "unknown setting speculation.kk is ignored; did you mean speculation.k?"),
        ("[zebra]\nq = 3\n", {}, "unknown setting zebra.q is ignored"),
        ("q = 3\n", {}, "unknown setting q is ignored"),
        ("", {"COMPLETER_CACHE_SLOT": "3"}, "COMPLETER_CACHE_SLOT is ignored; did you mean COMPLETER_CACHE_SLOTS?"),
    ],
)
def test_an_unknown_name_is_a_warning(file: Path, text: str, environ: dict[str, str], told: str) -> None:
    loaded = source(file, text, **environ).read()
    assert loaded.config == Config()
    assert [told in warning for warning in loaded.warnings] == [True]


def test_the_folder_variables_and_empty_variables_are_no_unknown_names(file: Path) -> None:
    environ = {"COMPLETER_CACHE_DIR": "/x", "COMPLETER_MODEL_TARGET": "", "COMPLETER_SPECULATION_K": "", "HOME": "/h"}
    loaded = source(file, None, **environ).read()
    assert (loaded.config, loaded.warnings) == (Config(), ())


def test_a_list_comes_from_the_file_and_with_commas_from_a_variable(file: Path) -> None:
    text = "[privacy]\nignore = ['*.sql', '!a, b.sql']\ndisabled_languages = []\n"
    privacy = source(file, text, COMPLETER_PRIVACY_DISABLED_PROJECTS="~/client, /srv").load().privacy
    assert privacy == PrivacyConfig(("*.sql", "!a, b.sql"), (), ("~/client", "/srv"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[speculation]\nk = 33\n", "speculation.k = 33 is not allowed: it must be a whole number from 0 to 32"),
        ("[speculation]\nk = -1\n", "speculation.k = -1"),
        ("[speculation]\nk = 2.5\n", "speculation.k = 2.5"),
        ("[speculation]\nk = true\n", "speculation.k = True"),
        ("[speculation]\nk = [1]\n", "speculation.k = [1]"),
        ("[privacy]\nignore = [1]\n", "[1] is not allowed: it must be a list of patterns"),
        ("[privacy]\nignore = ['']\n", "privacy.ignore = ['']"),
        ("[privacy]\nignore = true\n", "privacy.ignore = True"),
        ("[privacy]\ndisabled_projects = ['client']\n", "it must be a list of folders, from / or ~ on"),
        ("[speculation]\nstop_below = nan\n", "a number from 0 to 1"),
        ("[speculation]\nsource = 'ngram,magic'\n", "'ngram,magic' is not allowed: it must be auto, none, or any of"),
        ("[speculation]\nsource = 'auto,ngram'\n", "'auto,ngram' is not allowed"),
        ("[model]\ntarget = ''\n", "model.target = ''"),
        ("[model]\ndevice = 'tpu'\n", "it must be one of auto, cpu, cuda, mps"),
        ("model = 'x'\n", "it must be a section, [model]"),
        ("[model\n", "is not a TOML file"),
    ],
)
def test_a_bad_value_is_one_line_with_file_name_and_what_is_allowed(file: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        source(file, text).load()
    message = str(caught.value)
    assert told in message and str(file) in message and "\n" not in message


def test_a_bad_variable_is_named(file: Path) -> None:
    with pytest.raises(ConfigError, match="COMPLETER_SPECULATION_K = 'many' is not allowed"):
        source(file, None, COMPLETER_SPECULATION_K="many").load()


def test_a_bad_flag_is_a_usage_error(file: Path) -> None:
    with pytest.raises(UsageError, match="speculation.k = 33 is not allowed"):
        source(file).load({"speculation.k": 33})


def test_what_is_no_file_or_no_text_is_one_line(file: Path, tmp_path: Path) -> None:
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="is not a TOML file"):
        source(file).load()
    with pytest.raises(ConfigError, match="cannot read the configuration"):
        source(tmp_path).load()
    with pytest.raises(ConfigError, match="no such file"):
        ConfigSource(tmp_path / "gone.toml", {}, must_exist=True).load()


def test_a_file_nested_without_end_is_one_line(file: Path) -> None:
    with pytest.raises(ConfigError, match="is not a TOML file"):
        source(file, "a = " + "[" * 100_000).load()


def test_a_byte_order_mark_and_whole_numbers_for_fractions_are_fine(file: Path) -> None:
    file.write_text("\ufeff[speculation]\nstop_below = 1\n", "utf-8")
    assert source(file).load().speculation.stop_below == 1.0


def test_the_starter_file_says_everything_and_changes_nothing(file: Path) -> None:
    text = starter_file()
    assert source(file, text).load() == Config()
    uncommented = "\n".join(line.removeprefix("# ") if " = " in line else line for line in text.splitlines())
    loaded = source(file, uncommented).read()
    assert loaded.config == Config()
    assert set(loaded.origins) == set(KEYS)


def test_settings_in_force_are_toml_that_reads_back(file: Path, tmp_path: Path) -> None:
    loaded = source(file, '[model]\ntarget = "C:\\\\models\\\\naïve \\"q\\""\n', COMPLETER_CACHE_SLOTS="2").read()
    text = in_force(loaded)
    again = tmp_path / "again.toml"
    assert source(again, text).load() == loaded.config
    assert "slots = 2  # COMPLETER_CACHE_SLOTS" in text


def test_settings_agree_with_the_parts_that_use_them() -> None:
    for name in SOURCES:
        assert KEYS["speculation.source"].parse(name) == name
    assert KEYS["speculation.k"].parse(MAX_K) == MAX_K
    with pytest.raises(ValueError):
        KEYS["speculation.k"].parse(MAX_K + 1)
    defaults = Config().speculation
    assert fixed_planner(defaults.source, defaults.k, defaults.stop_below).k == defaults.k
