"""The engine: completes code by greedy speculative decoding.

Knows tokens and text; knows no editor, no database and no learning.
"""

__version__ = "0.1.0"
