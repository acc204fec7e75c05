"""`learnable` with a simulated engine that keeps books: each rollout handed over is a line of the file `$PAID`.

The line is written when the run asks for the next group: it has taken this one then, and must not lose it. `$POLICY`
names another policy, and `$BEAT_SECONDS` are those of a lease.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from learnable.cli.app import main
from learnable.data.policies import Policy
from learnable.data.records import Sampling
from learnable.data.storage import lease
from learnable.flows.sampling import engine_loop as rollout
from learnable.rollouts import simulated
from learnable.rollouts.protocol import Answer, GroupRequest
from learnable.rollouts.settings import SimulatedSettings

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
    lease.BEAT_SECONDS = float(os.environ.get("BEAT_SECONDS", lease.BEAT_SECONDS))
    simulated.SimulatedEngine.generate = generate_on_the_books  # type: ignore[method-assign]
    if name := os.environ.get("POLICY"):
        simulated.SimulatedEngine.policy_id = name
        SimulatedSettings.find_policy = lambda *_, **__: Policy(name, name)  # type: ignore[method-assign]
    main()
