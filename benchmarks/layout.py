"""What the anchored prompt saves at a keystroke: time to the first token, against the family's own layout.

    python -m benchmarks.layout PATH...

Both hold the same text of the file, and both are warm from the moment one character ago. The plain layout has the text
after the cursor behind what is typed, so that each key makes it read again. Interleaved, in turns of who begins.
"""

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from completer.config import Config
from completer.engine import Engine
from completer.evaluation.pipelines import plain_prompt
from completer.holes import Hole, draw_holes
from completer.loading import load_engine
from completer.planner import fixed_planner
from completer.prompt import PromptBudget
from completer.source_files import find_source_files

HOLES = 60


def anchored_ms(engine: Engine, hole: Hole) -> float:
    engine.warm(hole.request(untyped=1))
    for chunk in engine.complete(hole.request(), fixed_planner("none", 0)):
        if chunk.result is not None:
            return chunk.result.ttft_ms
    raise AssertionError("the last chunk carries the result")


def plain_ms(engine: Engine, hole: Hole) -> float:
    engine.read(hole.request().document_id, plain_prompt(engine, hole.request(untyped=1)))
    started = time.perf_counter()
    prompt_ids = plain_prompt(engine, hole.request())
    engine.target.forward(engine.read(hole.request().document_id, prompt_ids), prompt_ids[-1:], rows=1).argmax()
    return (time.perf_counter() - started) * 1000.0


def main(roots: list[Path]) -> None:
    config = Config()
    engine = load_engine(config)
    files = find_source_files(roots, 1, lambda path, language: None)
    holes = draw_holes(
        files, {"whole_line": HOLES // 2, "rest_of_line": HOLES // 2}, 1, PromptBudget(**asdict(config.prompt))
    )
    layouts: dict[str, Callable[[Engine, Hole], float]] = {"anchored": anchored_ms, "plain": plain_ms}
    found: dict[str, list[float]] = {name: [] for name in layouts}
    for number, hole in enumerate(holes):
        for name in sorted(layouts, reverse=number % 2 == 1):
            engine.forget()
            found[name].append(layouts[name](engine, hole))
    for name, values in found.items():
        low, _, high = statistics.quantiles(values, n=4)
        print(f"{name:9} median {statistics.median(values):6.0f} ms, quartiles {low:.0f} to {high:.0f}")
    ratios = [plain / anchored for anchored, plain in zip(found["anchored"], found["plain"], strict=True)]
    languages = len({hole.file.language for hole in holes})
    print(f"plain over anchored: median {statistics.median(ratios):.1f} of {len(ratios)} holes, {languages} languages")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
