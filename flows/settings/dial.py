"""What a search for the right difficulty depends on, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from learnable.data.settings import Setting, check_settings
from learnable.filters.dial.aim import Aim
from learnable.flows.settings.curation import CurateSettings
from learnable.verifiers.families.knob_grid import KnobGrid

ROLLOUTS_A_PROMPT = 2  # few, for a setting is about many prompts; two tell how much they vary inside a group
PROMPTS_A_PICK = 32  # of one setting in one round


@dataclass(frozen=True, slots=True)
class DialSettings:
    """Everything that a search for the right difficulty depends on.

    `curation` is what is to be curated at the knobs that are found, its own knobs aside; `grid` are the settings of the
    knobs to try. Of the `budget`, what the ledger has counts too. Raises `LearnableError` for settings that cannot
    work.
    """

    curation: CurateSettings
    grid: KnobGrid
    aim: Aim = field(default_factory=Aim)
    budget: Annotated[
        int,
        Setting(
            "Most rollouts that the search looks at, two a prompt.",
            at_least=3 * PROMPTS_A_PICK * ROLLOUTS_A_PROMPT,
            advice="for three settings of the knobs",
        ),
    ] = 8192
    curate: Annotated[bool, Setting("Make a curated set at the knobs that are found.")] = True

    def __post_init__(self) -> None:
        check_settings(self)
