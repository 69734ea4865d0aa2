"""What the CPU kernels cost: V(w) behind a context, prefill, and the read bandwidth of the same minute.

    python benchmarks/kernels.py MODEL [--context 1000] [--level avx2]

MODEL is an installed model, or a folder with a model.cpu. COMPLETER_CPU_LEVEL, or --level, caps the instructions.
"""

import argparse
import json
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from completer.backends.cpu import library
from completer.backends.cpu.cpu_target import CpuTarget
from completer.machine import physical_cores, processor
from completer.models.store import CPU_WEIGHTS, find
from completer.models.tokenizer import Tokenizer
from completer.passes import pass_ms

WIDTHS = (1, 2, 4, 8, 12, 16, 24, 32)
READ_BYTES = 1 << 30


def read_gb_per_s(threads: int, turns: int = 3) -> float:
    """The fastest of some plain reads of memory by all threads at once."""
    memory = np.ones(READ_BYTES // 8, np.int64)
    parts = np.array_split(memory, threads * 8)
    fastest = 0.0
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(turns):
            started = time.perf_counter()
            list(pool.map(np.bitwise_or.reduce, parts))
            fastest = max(fastest, READ_BYTES / (time.perf_counter() - started) / 1e9)
    return fastest


def measure(folder: Path, context: int, threads: int, repeats: int) -> dict[str, object]:
    target = CpuTarget.load(folder, threads)
    text = "".join(file.read_text("utf-8") for file in sorted(Path(library.__file__).parents[2].glob("*.py")))
    token_ids = Tokenizer.load(folder).encode(text)[: context + max(WIDTHS)]
    gb_before = read_gb_per_s(threads)
    passes = pass_ms(target, token_ids, context, WIDTHS, repeats)
    gb_after = read_gb_per_s(threads)
    medians = {width: statistics.median(times) for width, times in passes.items()}
    cache = target.new_cache(1024)
    started = time.perf_counter()
    for start in range(0, 1024, 128):
        target.forward(cache, token_ids[start : start + 128], 0)
    prefill = 1024 / (time.perf_counter() - started)
    gb = max(gb_before, gb_after)
    weight_bytes = (folder / CPU_WEIGHTS).stat().st_size
    return {
        "processor": processor(),
        "level": library.level(),
        "threads": threads,
        "context": context,
        "pass_ms": {width: round(ms, 1) for width, ms in medians.items()},
        "spread_ms": {width: [round(min(times), 1), round(max(times), 1)] for width, times in passes.items()},
        "ratio": {width: round(ms / medians[1], 2) for width, ms in medians.items()},
        "read_gb_per_s": [round(gb_before, 1), round(gb_after, 1)],
        "share_of_bandwidth": round(weight_bytes / (medians[1] / 1e3) / 1e9 / gb, 2),
        "prefill_tokens_per_s": round(prefill),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--context", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=physical_cores())
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--level", choices=library.LEVELS)
    arguments = parser.parse_args()
    if arguments.level:
        os.environ[library.LEVEL_VARIABLE] = arguments.level
    found = measure(find(arguments.model).folder, arguments.context, arguments.threads, arguments.repeats)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
