"""The hostile programs and the tests that they are judged by."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OWN = Path(__file__).parent
SHARED = Path(os.environ.get("LEARNABLE_ATTACKS", OWN.parents[1].parent / "shared" / "attacks"))

GOOD_SRC = (
    "def fizzbuzz(n):\n"
    "    return ['FizzBuzz' if i % 15 == 0 else 'Fizz' if i % 3 == 0 else 'Buzz' if i % 5 == 0 else str(i)\n"
    "            for i in range(1, n + 1)]\n"
)


def _fizzbuzz(n: int) -> list[str]:
    scope: dict[str, Any] = {}
    exec(GOOD_SRC, scope)
    answer: list[str] = scope["fizzbuzz"](n)
    return answer


SPECS: dict[str, dict[str, Any]] = {
    "fizzbuzz": {"entry": "fizzbuzz", "cases": [[[n], _fizzbuzz(n)] for n in (1, 3, 5, 15, 30)]},
    "fizzbuzz1": {"entry": "fizzbuzz", "cases": [[[15], _fizzbuzz(15)]]},
    "mean": {"entry": "mean", "cases": [[[[1.0, 2.0]], 1.5], [[[2.0]], 2.0], [[[1.0, 2.0, 6.0]], 3.0]]},
    "sign01": {"entry": "sign01", "cases": [[[5], 1], [[-1], 0], [[0], 0]]},
    "parens": {
        "entry": "balanced",
        "cases": [[["()"], True], [["("], False], [[")("], False], [["(())"], True]],
        "equality": "strict",
    },
    "total": {"entry": "total", "cases": [[[[]], 0], [[[1, 2]], 3], [[[5]], 5], [[[1, 1, 1]], 3]]},
}


@dataclass(frozen=True, slots=True)
class Attack:
    """A hostile program, what it is judged by and what must come of it."""

    file: str
    source: str
    spec: dict[str, Any]
    reward: float
    or_late: bool  # may also run out of time


def find_attacks(folder: Path) -> list[Attack]:
    """Return the attacks in a folder, by name; none where it does not exist."""
    return [read_attack(path) for path in sorted(folder.glob("[0-9]*.py"))]


def read_attack(path: Path) -> Attack:
    """Read one file."""
    text = path.read_text(encoding="utf-8")
    head = dict(line[2:].split(": ", 1) for line in text.splitlines()[:7])
    if head["mode"] == "make":
        scope: dict[str, Any] = {"GOOD_SRC": GOOD_SRC}
        exec(text, scope)
        text = scope["SRC"]
    spec = SPECS[head["tests"]] | {"cpu_seconds": 0.5}
    return Attack(path.name, text, spec, float(head["expect_reward"]), "over time" in head["expect"])
