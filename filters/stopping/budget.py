"""How many rollouts a decision may cost, and when enough is enough."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.records import JsonObject

SamplingMode = Literal["optimal", "fixed"]
MODES = ("optimal", "fixed")
BLOCKS = (4, 2, 2, 4)  # rollouts


@dataclass(frozen=True, slots=True)
class SamplingBudget:
    """How many rollouts prompts get.

    `sampling`: `optimal` stops each group when its decision is not worth another rollout, `fixed` gives every prompt
    its group size. For `optimal`: `max_group` is where a group stops whatever it says; `blocks` are the sizes of its
    first blocks, of which the last repeats; `pilot_prompts` of each family get `pilot_rollouts` each before anything
    is decided, of all families together about `pilot_in_all` at most where that is given; `precision` is aimed at
    instead of what a fixed group of 32 has; `want` is how many kept prompts are enough; `top_up` gives kept prompts
    their group size; `retest` is the share of rejected prompts that a later run samples again, so that a pool never
    only shrinks.

    Raises `UnknownNameError` for another `sampling`, and `LearnableError` for numbers that cannot work.
    """

    sampling: SamplingMode = "optimal"
    max_group: int = 48
    blocks: tuple[int, ...] = BLOCKS
    pilot_prompts: int = 64
    pilot_rollouts: int = 8
    precision: float | None = None
    want: int | None = None
    top_up: bool = False
    retest: float = 0.02
    pilot_in_all: int | None = None

    def __post_init__(self) -> None:
        if self.sampling not in MODES:
            raise UnknownNameError("--sampling", self.sampling, MODES)
        if self.max_group < 2:
            raise LearnableError(f"--max-group {self.max_group} has no spread: give 2 or more, 48 is usual")
        if not self.blocks or min(self.blocks) < 1:
            raise LearnableError(f"blocks {self.blocks} lead nowhere: give sizes of 1 or more")
        if self.pilot_prompts < 1 or self.pilot_rollouts < 2:
            raise LearnableError(
                f"a pilot of {self.pilot_prompts} prompts x {self.pilot_rollouts} says nothing: "
                "give --pilot-prompts 1 or more and --pilot-rollouts 2 or more"
            )
        self._check_goal()

    def _check_goal(self) -> None:
        if self.precision is not None and not 0.5 <= self.precision < 1:
            raise LearnableError(f"--precision {self.precision:g} is out of range: give 0.5 or more and less than 1")
        if self.want is not None and self.want < 1:
            raise LearnableError(f"--want {self.want} asks for nothing: give 1 or more")
        if not 0 <= self.retest <= 1:
            raise LearnableError(f"--retest {self.retest:g} is out of range: give a share from 0 to 1")
        if self.sampling == "fixed" and (self.want is not None or self.precision is not None):
            raise LearnableError(
                "--want and --precision need decisions as rollouts come in: leave out --sampling fixed"
            )

    def to_json(self) -> JsonObject:
        """Return the settings as a manifest has them."""
        plain = asdict(self)
        return plain if self.pilot_in_all else {name: plain[name] for name in plain if name != "pilot_in_all"}

    def count_max_rollouts(self, group_size: int) -> int:
        """Return the most rollouts that one prompt may get, one more block for a retest among them."""
        return group_size if self.sampling == "fixed" else max(self.max_group + self.blocks[-1], group_size)
