"""`learnable` with a simulated engine that keeps books: each rollout handed over is a line of the file `$PAID`.

The line is written when the run asks for the next group: it has taken this one then, and must not lose it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from learnable.cli.app import main
from learnable.data.records import Sampling
from learnable.flows.sampling import engine_loop as rollout
from learnable.rollouts import simulated
from learnable.rollouts.protocol import Answer, GroupRequest

generate = simulated.SimulatedEngine.generate


def generate_on_the_books(
    self: simulated.SimulatedEngine, requests: Iterable[GroupRequest], sampling: Sampling
) -> Iterator[Answer]:
    for answer in generate(self, requests, sampling):
        yield answer
        if isinstance(answer, list):
            with Path(os.environ["PAID"]).open("a", encoding="ascii") as books:
                books.writelines(f"{paid.rollout_id}\n" for paid in answer)


if __name__ == "__main__":
    rollout.FIRST_DELAY = float(os.environ.get("FIRST_DELAY", rollout.FIRST_DELAY))
    simulated.SimulatedEngine.generate = generate_on_the_books  # type: ignore[method-assign]
    main()
