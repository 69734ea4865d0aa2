"""The model loaded on the backend that suits it, and refused where it computes no numbers."""

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from completer.backends.chosen import load_target
from completer.config import ModelConfig
from completer.errors import ModelCorrupt
from completer.models.store import find
from tests.tiny_model import write_tiny_model


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_give_no_numbers_are_refused(tmp_path, value):
    folder = write_tiny_model(tmp_path / "damaged")
    weights = load_file(folder / "model.safetensors")
    weights["model.layers.1.mlp.down_proj.weight"][:] = value
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelCorrupt, match="damaged computes no numbers: .*; pull the model again, or set"):
        load_target(find(str(folder)), ModelConfig())


def test_a_whole_model_answers(tiny_model):
    target = load_target(find(str(tiny_model)), ModelConfig())
    assert len(target.forward(target.new_cache(4), [1, 2], rows=2).argmax()) == 2
