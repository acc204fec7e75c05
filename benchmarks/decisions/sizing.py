"""How long will it take, and how large does the ledger become? From the tokens per second of one replica.

Measure that first: `find-learnable` shows it while it rolls out, and its report has tokens and seconds.

    python -m benchmarks.decisions.sizing --tokens-per-second 2500 --replicas 8 64 --prompts 100000 --tokens 600
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

CHUNK_ROLLOUTS = 1024
LEDGER_BYTES_A_ROLLOUT = 47.0  # keys and scores, compressed; measured, see RESULTS.md
LEDGER_BYTES_A_TOKEN = 3.6  # text and token ids, compressed; measured, see RESULTS.md
SCALING = 0.95  # share of a replica's speed that is left when there are many: assumed, not measured


@dataclass(frozen=True, slots=True)
class Size:
    """One row: what a pool costs on so many replicas."""

    replicas: int
    hours: float
    tokens: int
    ledger_bytes: float
    chunks: int

    def cells(self) -> list[str]:
        """Return the row as text."""
        gib = self.ledger_bytes / 2**30
        return [str(self.replicas), f"{self.hours:,.1f} h", f"{self.tokens:,}", f"{gib:,.2f} GiB", f"{self.chunks:,}"]


def size(prompts: int, group_size: int, tokens: float, tokens_per_second: float, replicas: int) -> Size:
    """Return what `prompts` groups cost, with `tokens` a completion on average.

    >>> size(100_000, 16, 500, 2_500, 1).hours
    88.88888888888889
    """
    rollouts = prompts * group_size
    total = int(rollouts * tokens)
    speed = tokens_per_second * (1 if replicas == 1 else replicas * SCALING)
    ledger_bytes = rollouts * LEDGER_BYTES_A_ROLLOUT + total * LEDGER_BYTES_A_TOKEN
    return Size(replicas, total / speed / 3600, total, ledger_bytes, -(-rollouts // CHUNK_ROLLOUTS))


def table(sizes: Sequence[Size]) -> str:
    """Return the sizes as a Markdown table."""
    lines = ["| replicas | wall clock | tokens | ledger | chunks |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*lines, *(f"| {' | '.join(one.cells())} |" for one in sizes)])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens-per-second", type=float, required=True, help="of one replica, as measured")
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--prompts", type=int, default=100_000)
    parser.add_argument("--group-size", type=int, default=16)
    parser.add_argument("--tokens", type=float, default=600, help="of a completion, on average")
    arguments = parser.parse_args()
    shape = (arguments.prompts, arguments.group_size, arguments.tokens, arguments.tokens_per_second)
    print(table([size(*shape, replicas) for replicas in arguments.replicas]))


if __name__ == "__main__":
    main()
