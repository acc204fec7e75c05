"""What a search for the right difficulty depends on, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

from learnable.data.errors import LearnableError
from learnable.filters.dial.search import Aim
from learnable.flows.settings.curation import CurateSettings
from learnable.verifiers.families.knob_grid import KnobGrid

ROLLOUTS_A_PROMPT = 2  # few, for a setting is about many prompts; two tell how much they vary inside a group
PROMPTS_A_PICK = 32  # of one setting in one round


@dataclass(frozen=True, slots=True)
class DialSettings:
    """Everything that a search for the right difficulty depends on.

    `curation` is what is to be curated at the knobs that are found, its own knobs aside; `grid` are the settings of the
    knobs to try. `budget` is the most rollouts that the search looks at, those of the ledger among them. `curate` says
    whether a set is made. Raises `LearnableError` for settings that cannot work.
    """

    curation: CurateSettings
    grid: KnobGrid
    aim: Aim = field(default_factory=Aim)
    budget: int = 8192
    curate: bool = True

    def __post_init__(self) -> None:
        least = 3 * PROMPTS_A_PICK * ROLLOUTS_A_PROMPT
        if self.budget < least:
            raise LearnableError(
                f"--budget {self.budget} rollouts are too few to look at three settings: give {least} or more"
            )
