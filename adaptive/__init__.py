"""Policy and memory: which draft source, and how long a draft.

Knows arms, counts and milliseconds; knows no tensors and no editor.
"""
