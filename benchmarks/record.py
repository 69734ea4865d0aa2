"""Record the traces of benchmarks/traces again: the packages of repositories.toml, typed at with the default pair.

    python -m benchmarks.record [--minutes M] [--holes N] [--more] [--output FOLDER]

One hole of each package and language in turn, so that ending early leaves as much of every one; what is recorded is
written as it comes. The same holes every time: with --more, a run goes on from the traces that are there.
"""

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adaptive.recording import Recorder, hole_classes
from adaptive.trace import Trace, read_trace, write_trace
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
    parser.add_argument("--holes", type=int, default=60, help="of each language of a package")
    parser.add_argument("--more", action="store_true", help="go on from the traces that are there")
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
    traces = [_before(options.output, package) if options.more else Trace() for package in packages]
    for lap in range(options.holes):
        for package, trace, recorder, all_holes in zip(packages, traces, recorders, holes, strict=True):
            count = len(package["languages"])
            done = trace.about.get("holes", 0)
            for hole in all_holes[max(done, lap * count) : (lap + 1) * count]:
                if time.monotonic() < end:
                    trace.completions.extend(recorder.record(hole))
                    done += 1
            source = f"{package['name']} {package['version']}"
            trace.about.update(source=source, seed=document["seed"], holes=done)
            write_trace(_file(options.output, package), trace)
        print(f"lap {lap + 1}: {sum(trace.tokens for trace in traces)} tokens", flush=True)
        if time.monotonic() >= end:
            break


def _file(folder: Path, package: Mapping[str, Any]) -> Path:
    return folder / f"{package['name'].rpartition('/')[2]}.jsonl.gz"


def _before(folder: Path, package: Mapping[str, Any]) -> Trace:
    file = _file(folder, package)
    return read_trace(file) if file.exists() else Trace()


if __name__ == "__main__":
    main()
