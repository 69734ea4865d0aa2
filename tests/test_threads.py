"""How many threads run, and that those that wait give way: a busy machine is the usual one."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from adaptive.environment import environment_of
from completer.backends import chosen
from completer.config import Config, ModelConfig
from completer.loading import load_engine


@pytest.mark.parametrize(("cores", "given", "expected"), [(1, 0, 1), (2, 0, 2), (3, 0, 2), (8, 0, 7), (8, 3, 3)])
def test_one_core_is_left_free_where_there_are_more_than_two(monkeypatch, cores, given, expected):
    monkeypatch.setattr(chosen, "performance_cores", lambda: cores)
    assert chosen.choose_threads(ModelConfig(threads=given)) == expected


def test_costs_are_kept_under_the_number_of_threads_that_ran(monkeypatch, tiny_model: Path):
    monkeypatch.setattr(chosen, "performance_cores", lambda: 4)
    config = replace(Config(), model=ModelConfig(target=str(tiny_model), draft="none"))
    before = torch.get_num_threads()
    try:
        load_engine(config)
        assert environment_of(config).threads == torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(("given", "expected"), [(None, "10000"), ("7", "7")])
def test_openmp_spins_briefly_unless_the_user_said_otherwise(given, expected):
    environment = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    if given is not None:
        environment["GOMP_SPINCOUNT"] = given
    code = "import completer.backends.torch_target, os; print(os.environ['GOMP_SPINCOUNT'])"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected


def test_torch_is_never_imported_before_the_package_has_spoken():
    code = "import sys, completer; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
