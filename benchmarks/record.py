"""Record the traces of benchmarks/traces again: the packages of repositories.toml, typed at with the default pair.

    python -m benchmarks.record [--minutes M] [--holes N] [--output FOLDER]

One hole of each package in turn, so that ending early leaves as much of every one; what is recorded is written after
each lap. The same holes every time: a longer run goes on where a shorter one ends.
"""

import argparse
import itertools
import sys
import time
from pathlib import Path

from adaptive.recording import Recorder, hole_classes
from adaptive.trace import Trace, Traced, write_trace
from benchmarks.corpus import fetch
from completer.config import Config
from completer.holes import draw_holes
from completer.loading import load_engine
from completer.privacy.rules import Privacy
from completer.source_files import find_source_files

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TRACES = Path(__file__).with_name("traces")
LIST = TRACES / "repositories.toml"


def main() -> None:
    parser = argparse.ArgumentParser(description="Record the traces of benchmarks/traces.")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no more holes after this time")
    parser.add_argument("--holes", type=int, default=20, help="of each language of a package")
    parser.add_argument("--output", type=Path, default=TRACES, help="the folder to write to")
    options = parser.parse_args()
    document = tomllib.loads(LIST.read_text("utf-8"))
    config = Config()
    engine = load_engine(config)
    folder, packages = fetch(LIST), document["package"]
    recorders, holes = [], []
    for package in packages:
        root, languages = folder / package["name"], package["languages"]
        files = find_source_files([root], document["seed"], Privacy(config.privacy).refusal)
        files = [file for file in files if file.language in languages]
        classes = hole_classes(options.holes * len(languages))
        holes.append(draw_holes(files, classes, document["seed"], engine.limits.budget))
        recorders.append(Recorder(engine, package["name"], package["split"]))
    end = time.monotonic() + options.minutes * 60
    recorded: list[list[Traced]] = [[] for _ in packages]
    for lap in range(max(map(len, holes))):
        for index, package in enumerate(packages):
            count = len(package["languages"])
            for hole in itertools.islice(holes[index], lap * count, (lap + 1) * count):
                if time.monotonic() < end:
                    recorded[index] += recorders[index].record(hole)
            name = package["name"].rpartition("/")[2]
            about = {"source": f"{package['name']} {package['version']}", "seed": document["seed"]}
            write_trace(options.output / f"{name}.jsonl.gz", Trace(recorded[index], about))
        tokens = [sum(traced.tokens for traced in completions) for completions in recorded]
        print(f"lap {lap + 1}: {sum(map(len, recorded))} completions, {sum(tokens)} tokens {tokens}", flush=True)
        if time.monotonic() >= end:
            break


if __name__ == "__main__":
    main()
