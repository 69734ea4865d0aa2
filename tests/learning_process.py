"""A process that learns and stores, for tests to kill: python -m tests.learning_process FILE LANGUAGE [ROUNDS]

Prints a line after each batch that is on the disk: how many rounds have been played by then. Without ROUNDS it never
ends by itself.
"""

import sys
from pathlib import Path

from adaptive.context_key import Environment, Project
from adaptive.controller import Controller
from adaptive.writer import Writer
from completer.request import Draft, RoundOutcome, RoundPlanner, RoundState

ENVIRONMENT = Environment("target", "draft", "bfloat16", "cpu", "qwen")
PROJECT = Project("project-id", "name", "/root/of/it")


def play(planner: RoundPlanner, is_right: bool = True) -> None:
    """One round with an offer of one token."""
    offers = {"ngram": Draft((1,), 4)}
    state = RoundState(offers, None, 100, 64, False, None)
    choice = planner.choose(state)
    draft = offers["ngram"] if choice.k else Draft.EMPTY
    accepted = int(is_right and choice.k > 0)
    emitted = ((1,) if is_right else (2,)) + ((3,) if accepted else ())
    planner.observe(
        RoundOutcome(
            state=state,
            choice=choice,
            draft=draft,
            accepted=accepted,
            emitted=emitted,
            cut_by_stop=False,
            width=1 + len(draft),
            prefill_ms=0.0,
            draft_ms=0.0,
            verify_ms=50.0,
            sample_ms=0.1,
            schedule_ms=0.1,
            catch_up_tokens=0,
        )
    )


def main() -> None:
    path, language = Path(sys.argv[1]), sys.argv[2]
    most = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    controller = Controller()
    writer = Writer(controller, path, ENVIRONMENT, batch_s=1000.0)
    writer.has_loaded.wait()
    played = 0
    while not most or played < most:
        for _ in range(10):
            play(controller.planner(language, PROJECT))
        played += 10
        writer.write_now()
        print(played, flush=True)
    writer.close()


if __name__ == "__main__":
    main()
