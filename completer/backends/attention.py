"""Attention for the torch backend: one function registered with transformers, canonical where passes are narrow.

Verification must not change the text, so a position's result may not depend on how many positions share its pass.
In a narrow pass each row is therefore a batch entry of its own over keys rounded up to EXTENT_MULTIPLE, and rows whose
rounded extents differ are computed apart: a row's arithmetic then depends on its own position alone. The query heads
that share a key head are its rows, so no key is copied. Wide passes (prefill) take the usual causal path.
"""

from dataclasses import dataclass

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface, PretrainedConfig
from transformers.masking_utils import sdpa_mask

EXTENT_MULTIPLE = 64
NAME = "completer"


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows start..end of a pass whose keys end at extent; mask: (end - start, 1, 1, extent) bool, True = visible."""

    start: int
    end: int
    extent: int
    mask: torch.Tensor


def row_groups(past: int, width: int, device: torch.device) -> list[RowGroup]:
    """Split the rows of a pass of `width` positions behind `past` at every multiple of EXTENT_MULTIPLE."""
    groups, start = [], 0
    while start < width:
        extent = ((past + start) // EXTENT_MULTIPLE + 1) * EXTENT_MULTIPLE
        end = min(width, extent - past)
        positions = torch.arange(past + start, past + end, device=device)
        mask = torch.arange(extent, device=device)[None, :] <= positions[:, None]
        groups.append(RowGroup(start, end, extent, mask[:, None, None, :]))
        start = end
    return groups


def causal_mask(past: int, width: int, device: torch.device) -> torch.Tensor:
    """(1, 1, width, past + width) bool, True = visible."""
    keys = torch.arange(past + width, device=device)
    return (keys[None, :] <= keys[past:, None])[None, None]


def attention(
    module: torch.nn.Module,
    query: torch.Tensor,  # (1, heads, width, size)
    key: torch.Tensor,  # (1, key heads, extent, size)
    value: torch.Tensor,  # (1, key heads, extent, size)
    attention_mask: torch.Tensor | None,
    scaling: float,
    row_groups: list[RowGroup] | None = None,
    **kwargs: object,
) -> tuple[torch.Tensor, None]:
    """(1, width, heads, size). With row_groups each row is computed alone and attention_mask is not read."""
    _, heads, width, size = query.shape
    key_heads = key.shape[1]
    if row_groups is None:
        assert attention_mask is not None
        end = attention_mask.shape[-1]
        mixed = scaled_dot_product_attention(
            query, key[:, :, :end], value[:, :, :end], attention_mask, scale=scaling, enable_gqa=heads != key_heads
        )
        return mixed.transpose(1, 2), None
    rows = query[0].transpose(0, 1).reshape(width, key_heads, heads // key_heads, size)
    mixed_rows = [
        scaled_dot_product_attention(
            rows[group.start : group.end],
            key[:, :, : group.extent].expand(group.end - group.start, -1, -1, -1),
            value[:, :, : group.extent].expand(group.end - group.start, -1, -1, -1),
            group.mask.expand(-1, -1, heads // key_heads, -1),
            scale=scaling,
        )
        for group in row_groups
    ]
    return torch.cat(mixed_rows).reshape(1, width, heads, size), None


AttentionInterface.register(NAME, attention)
AttentionMaskInterface.register(NAME, sdpa_mask)


def is_plain_causal(config: PretrainedConfig, capacity: int) -> bool:
    """Whether the model's attention is the plain causal kind this module computes, for `capacity` positions."""
    window = getattr(config, "sliding_window", None) if getattr(config, "use_sliding_window", True) else None
    return (
        (window is None or window >= capacity)
        and all(kind == "full_attention" for kind in getattr(config, "layer_types", None) or ())
        and getattr(config, "attn_logit_softcapping", None) is None
    )
