"""Where runs are written that were told no folder: `runs/NAME-N`, beside each other."""

from __future__ import annotations

from pathlib import Path

RUNS = Path("runs")


def run_folder(curated: str, part: str = "train", *, resume: bool = False) -> str:
    """Return `runs/NAME-N`, the next one or the last one to resume; `runs/NAME-PART-N` for another part than `train`.

    NAME is the set's, with its version where that is named.
    """
    parts = [name for name in Path(curated).parts if name not in ("/", ".", "..")]
    name = "-".join(parts[-2:] if parts[-1].startswith("v") else parts[-1:])
    name = name if part == "train" else f"{name}-{part}"
    numbers = [int(number) for path in RUNS.glob(f"{name}-*") if (number := path.name[len(name) + 1 :]).isdigit()]
    last = max(numbers, default=0)
    return str(RUNS / f"{name}-{last if resume and last else last + 1}")
