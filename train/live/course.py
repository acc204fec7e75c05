"""Which stage of a curriculum a run is in: by its step, or by how often the prompts of the stage pass.

By success a stage leads to the next one where its completions pass `up` of the time, and back to the one before at
`down`, as the curricula of reasoning-gym do (Stojanovski et al. 2025, arXiv:2505.24760). What is drawn is no fair
sample of a stage where the sampler prefers prompts in the middle, so each group counts with the inverse of the chance
with which it was taken (Hajek's estimator).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject
from learnable.verifiers.families.curriculum import Curriculum

WINDOW = 24  # groups of a stage by which its pass rate is judged: good to .1
EARLIER = 0.2  # of the places, at most, go to prompts of the stages before: lest they are forgotten


@dataclass
class Course:
    """The stages of a run's prompts and where the run is. `stage_of` is (n,), -1 for a prompt of no stage.

    `steps_per_batch` are the optimizer steps that one generation batch is for. `drawn` has, for each batch that is
    not trained on yet, the stage that it was drawn at and the shares of the places that the stages had.
    """

    curriculum: Curriculum
    stage_of: NDArray[np.int64]
    by: Literal["step", "success"] = "step"
    steps_per_batch: float = 1.0
    stage: int = 0
    window: list[tuple[float, float]] = field(default_factory=list)
    drawn: list[tuple[int, list[float]]] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The names of the stages, in their order."""
        return [stage.name for stage in self.curriculum.stages]

    @property
    def success(self) -> float | None:
        """The pass rate of the stage by the groups of the window; None before there is any."""
        weights = sum(weight for _, weight in self.window)
        return sum(rate * weight for rate, weight in self.window) / weights if weights else None

    def begin_batch(self, batches: int, chances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the chances with which a walk takes the prompts of the next batch, (n,), and remember its stage.

        `batches` were drawn before it; `chances` are those without a curriculum. Later stages have none, and earlier
        ones `EARLIER` of the places together, at most.
        """
        if self.by == "step":
            at = self.curriculum.stage_at(int(batches * self.steps_per_batch))
            self.stage = self.curriculum.stages.index(at)
        now, before = self.stage_of == self.stage, (self.stage_of >= 0) & (self.stage_of < self.stage)
        mass, old = chances[now].sum(), chances[before].sum()
        factor = min(1.0, EARLIER / (1 - EARLIER) * mass / old) if old > 0 and mass > 0 else 1.0
        staged = np.where(now, chances, np.where(before, chances * factor, 0.0))
        self.drawn.append((self.stage, self._share_out(staged)))
        return np.asarray(staged)

    def finish_batch(self) -> None:
        """Forget the oldest batch that was drawn: it is trained on."""
        self.drawn.pop(0)

    def observe(self, groups: Mapping[int, tuple[int, int]], chances: NDArray[np.float64]) -> None:
        """Take in the passes and failures of a batch's prompts, and go up or down a stage where that is due."""
        for prompt, (passes, failures) in sorted(groups.items()):
            if self.stage_of[prompt] == self.stage and passes + failures:
                # no group counts for more than as many as one that is taken so rarely
                weight = 1 / max(0.05, float(chances[prompt]))
                self.window.append((passes / (passes + failures), weight))
        self.window = self.window[-WINDOW:]
        success = self.success
        if self.by != "success" or success is None or len(self.window) < WINDOW:
            return
        move = (success >= self.curriculum.up) - (success <= self.curriculum.down)
        stage = min(max(self.stage + move, 0), len(self.names) - 1)
        if stage != self.stage:
            self.stage, self.window = stage, []

    def list_metrics(self) -> list[tuple[str, float]]:
        """Return what is logged of the batch that is trained on: its stage from 1 on, its pass rate, the shares."""
        stage, shares = self.drawn[0]
        logged = [("stage", float(stage + 1))]
        logged += [("stage_success", self.success)] if self.success is not None else []
        return logged + [(f"stage_share/{name}", share) for name, share in zip(self.names, shares, strict=True)]

    def get_state(self) -> JsonObject:
        """Return where the run is, as JSON takes it."""
        return {"names": self.names, "stage": self.stage, "window": list(self.window), "drawn": list(self.drawn)}

    def set_state(self, state: JsonObject) -> None:
        """Go on from a state. Raises `LearnableError` where it is of other stages."""
        if state["names"] != self.names:
            raise LearnableError(
                f"the run that wrote this checkpoint had the stages {', '.join(state['names'])}, and the curriculum "
                f"has {', '.join(self.names)}: go on with the curriculum that it began with"
            )
        self.stage = int(state["stage"])
        self.window = [(rate, weight) for rate, weight in state["window"]]
        self.drawn = [(stage, list(shares)) for stage, shares in state["drawn"]]

    def _share_out(self, chances: NDArray[np.float64]) -> list[float]:
        total = chances.sum()
        members = (self.stage_of == number for number in range(len(self.names)))
        return [float(chances[some].sum() / total) if total > 0 else 0.0 for some in members]
