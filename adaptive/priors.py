"""What is assumed before anything is known: priors.toml, read once."""

import functools
import sys
from importlib import resources
from typing import Any

import numpy as np

from adaptive.buckets import SOURCES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@functools.cache
def priors() -> dict[str, Any]:
    return tomllib.loads(resources.files("adaptive").joinpath("priors.toml").read_text("utf-8"))


@functools.cache
def seed_means() -> dict[str, np.ndarray]:
    """By source, the assumed chance of acceptance by bucket: (BUCKETS,), read-only."""
    means = {}
    for source in SOURCES:
        table = np.array(priors()[source]["chance"], float)
        table.setflags(write=False)
        means[source] = table
    return means
