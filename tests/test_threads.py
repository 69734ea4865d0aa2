"""Waiting threads must give way: a busy machine is the usual one."""

import os
import subprocess
import sys

import pytest


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
