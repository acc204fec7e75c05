"""How many rollouts a decision may cost, and when enough is enough."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Literal

from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject
from learnable.data.settings import Setting, check_settings

SamplingMode = Literal["optimal", "fixed"]
BLOCKS = (4, 2, 2, 4)  # rollouts
WANTED = "How many are wanted"  # a heading of `--help`


@dataclass(frozen=True, slots=True)
class SamplingBudget:
    """How many rollouts prompts get.

    Under `fixed` every prompt gets its group size; the other settings are for `optimal`, which stops each group when
    its decision is not worth another rollout. `blocks` are the sizes of a group's first blocks, of which the last
    repeats; of all families together the pilot has about `pilot_in_all` prompts at most where that is given. `retest`
    keeps a pool from only shrinking. Raises `LearnableError` for settings that cannot work.
    """

    sampling: Annotated[
        SamplingMode, Setting("optimal: stop when another rollout is not worth it. fixed: --group-size for all.")
    ] = "optimal"
    max_group: Annotated[int, Setting("optimal: most completions of one prompt.", at_least=2, advice="48 is usual")] = (
        48
    )
    blocks: tuple[int, ...] = BLOCKS
    pilot_prompts: Annotated[
        int, Setting("optimal: prompts of each family that are sampled before any decision.", at_least=1)
    ] = 64
    pilot_rollouts: Annotated[int, Setting("optimal: completions of each of those.", at_least=2)] = 8
    precision: Annotated[
        float | None,
        Setting(
            "Share of the kept prompts that are truly in the band.",
            WANTED,
            at_least=0.5,
            below=1,
            usual="as 32 completions would give",
        ),
    ] = None
    want: Annotated[int | None, Setting("Stop when this many prompts are kept.", WANTED, at_least=1)] = None
    top_up: Annotated[bool, Setting("optimal: give kept prompts --group-size completions.")] = False
    retest: Annotated[
        float,
        Setting("optimal: share of rejected prompts that a later run samples again.", at_least=0, at_most=1),
    ] = 0.02
    pilot_in_all: int | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.blocks or min(self.blocks) < 1:
            raise LearnableError(f"blocks {self.blocks} lead nowhere: give sizes of 1 or more")
        if self.sampling == "fixed" and (self.want is not None or self.precision is not None):
            raise LearnableError(
                "`want` and `precision` need decisions as rollouts come in: leave out `sampling` fixed"
            )

    def to_json(self) -> JsonObject:
        """Return the settings as a manifest has them."""
        plain = asdict(self)
        return plain if self.pilot_in_all else {name: plain[name] for name in plain if name != "pilot_in_all"}

    def count_max_rollouts(self, group_size: int) -> int:
        """Return the most rollouts that one prompt may get, one more block for a retest among them."""
        return group_size if self.sampling == "fixed" else max(self.max_group + self.blocks[-1], group_size)
