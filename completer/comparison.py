"""Arms against one another on the same holes: in turn, hole by hole, in an order that rotates. Knows no command.

A hole counts only when all its arms have run.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from completer.arms import COLD, WARM, Arm, Replay, Run
from completer.engine import Engine
from completer.holes import Hole

COLD_EVERY = 4


def warm_up(engine: Engine, hole: Hole, arms: Sequence[Arm]) -> None:
    """Load what is loaded at first use, and let caches, threads and memory settle."""
    short = replace(hole, max_tokens=4)
    for arm in {arm.uses_draft_model: arm for arm in arms}.values():
        Replay(engine, stop_below=0.0).run(short, arm, COLD)
    engine.forget()


def compare(
    replay: Replay,
    holes: Sequence[Hole],
    arms_of: Callable[[Hole], Sequence[Arm]],
    state: str,
    done: Callable[[Sequence[Run]], None],
) -> list[Run]:
    """Every hole through its arms, until the replay is cancelled; done is given the runs of each hole that counts."""
    runs: list[Run] = []
    for turn, hole in enumerate(holes):
        arms = list(arms_of(hole))
        shift = turn % len(arms)
        of_hole = []
        for arm in arms[shift:] + arms[:shift]:
            of_hole.append(replay.run(hole, arm, state))
            if of_hole[-1].is_cancelled:
                return runs
        runs += of_hole
        done(of_hole)
    return runs


def cold_sample(warm: Sequence[Run]) -> list[Hole]:
    """Every COLD_EVERY-th of the holes that were run warm, of each class, from its first."""
    sample = []
    seen: dict[str, int] = {}
    for hole in dict.fromkeys(run.hole for run in warm):
        if seen.setdefault(hole.kind, 0) % COLD_EVERY == 0:
            sample.append(hole)
        seen[hole.kind] += 1
    return sample


def best_arms(kind: str, warm: Sequence[Run]) -> list[Arm]:
    """Of each source, the arm that took the least time for all holes of a class."""
    total_ms: dict[Arm, float] = {}
    for run in warm:
        if run.hole.kind == kind and run.state == WARM:
            total_ms[run.arm] = total_ms.get(run.arm, 0.0) + run.result.total_ms
    best: dict[str, Arm] = {}
    for arm in sorted(total_ms, key=total_ms.__getitem__):
        best.setdefault(arm.source, arm)
    return list(best.values())
