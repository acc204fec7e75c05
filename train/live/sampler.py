"""Which prompts come next: those whose groups are expected to disagree, each at most once a round.

A round walks through all prompts in a random order and takes each with the square of its expected usable share, the
chance that its group is of any use to GRPO. So prompts in the middle are taken alike, which keeps the batch as varied
as the pool allows, and those that are mastered or hopeless rest until their rates have become uncertain again. One
place in `PLACES_A_REVIEW` goes to the prompt that waited longest, whatever is expected of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject
from learnable.train.live.course import Course
from learnable.train.live.rates import PassRates

PLACES_A_REVIEW = 32  # places, of which one is a review
STARVED = 0.25  # expected usable share of a batch, below which the pool has run dry


def take_with(usable: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the chance with which a round takes each prompt, from its expected usable share."""
    return usable**2


def share_places(usable: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each prompt's share of the next places, (n,), from its expected usable share: of rounds and reviews."""
    chances, alike = take_with(usable), np.full(len(usable), 1 / len(usable))
    total = chances.sum()
    rounds = chances / total if total > 0 else alike
    return (1 - 1 / PLACES_A_REVIEW) * rounds + alike / PLACES_A_REVIEW


@dataclass(frozen=True, slots=True)
class BatchLayout:
    """How TRL's loader wants indices: `prompts` different ones, `group_size` times each, the whole `repeats` times."""

    prompts: int
    group_size: int
    repeats: int


@dataclass
class PromptPicker:
    """Picks batches of prompts by their rates, the same ones from the same seed, state and observations.

    `last_drawn` is the number of the batch that a prompt was in last, -1 for none. A `course` has prompts of its stage
    drawn, and of those before. Where `is_even`, prompts are taken alike, whatever is expected of them.
    """

    rates: PassRates
    layout: BatchLayout
    seed: int = 0
    course: Course | None = None
    is_even: bool = False
    batches: int = 0
    order: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    last_drawn: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        """Raise `LearnableError` for a pool that does not fill a batch."""
        self.count = len(self.rates.weights)
        if self.count < self.layout.prompts:
            raise LearnableError(
                f"a generation batch takes {self.layout.prompts} different prompts and there are {self.count}: train "
                "on more prompts, or take fewer a step"
            )
        self.last_drawn = np.full(self.count, -1, np.int64)
        self.generator = np.random.default_rng(self.seed)

    def draw(self) -> list[int]:
        """Return the next batch: `prompts` different indices."""
        chances = self.list_chances()
        if self.course:
            chances = self.course.begin_batch(self.batches, chances)
        batch = self._review(chances > 0 if self.course else np.ones(self.count, bool))
        rounds = 0
        while len(batch) < self.layout.prompts and rounds < 3:  # then it takes what is left
            if not len(self.order):
                self.order = self.generator.permutation(self.count)
                rounds += 1
            batch = self._walk(batch, chances)
        if missing := self.layout.prompts - len(batch):
            best = np.argsort(-chances, kind="stable")
            batch += [int(index) for index in best if index not in batch][:missing]
        return self.take(batch)

    def take(self, batch: Sequence[int]) -> list[int]:
        """Take these prompts for the next batch, and return them."""
        taken = list(batch)
        self.last_drawn[taken] = self.batches
        self.batches += 1
        return taken

    def list_chances(self) -> NDArray[np.float64]:
        """Return the chance with which a round takes each prompt, whatever its stage, (n,)."""
        if self.is_even:
            return np.ones(self.count)
        return take_with(self.rates.expect_usable(self.layout.group_size))

    def _review(self, may: NDArray[np.bool_]) -> list[int]:
        """Return the prompt that waited longest where this batch has the place of a review, else none."""
        places = self.layout.prompts
        due = (self.batches + 1) * places // PLACES_A_REVIEW > self.batches * places // PLACES_A_REVIEW
        if not due or not self.batches:
            return []
        longest = self.last_drawn[may].min(initial=self.batches)
        waiting = np.flatnonzero(may & (self.last_drawn == longest))
        if self.is_even or not len(waiting):
            return []
        return [int(self.generator.choice(waiting))]

    def _walk(self, batch: Sequence[int], take: NDArray[np.float64]) -> list[int]:
        """Go on through the order until the batch is full or the order ends."""
        missing = self.layout.prompts - len(batch)
        chances = self.generator.random(len(self.order))
        taken = np.flatnonzero((chances < take[self.order]) & ~np.isin(self.order, batch))[:missing]
        end = taken[-1] + 1 if len(taken) == missing else len(self.order)
        drawn = [int(index) for index in self.order[taken]]
        self.order = self.order[end:]
        return [*batch, *drawn]

    def observe(self, groups: dict[int, tuple[int, int]]) -> None:
        """Take in the passes and failures of each prompt of a batch; the policy moves on."""
        if self.course:
            self.course.observe(groups, self.list_chances())
        self.rates.observe_batch(groups)

    def is_starved(self, batch: Sequence[int]) -> bool:
        """Whether few of a batch's groups are expected to be of use, the best there are as they may be.

        A batch may be drawn before its prompts are predicted: then the best of all prompts decide.
        """
        usable = self.rates.expect_usable(self.layout.group_size)
        best = np.sort(usable)[-len(batch) :] if self.rates.is_predicted else usable[list(batch)]
        return bool(best.mean() < STARVED)

    def get_state(self) -> JsonObject:
        """Return all that the next draws depend on: arrays, and numbers that JSON takes."""
        state: JsonObject = {
            **self.rates.get_state(),
            "order": self.order.copy(),
            "last_drawn": self.last_drawn.copy(),
            "batches": self.batches,
            "generator": self.generator.bit_generator.state,
        }
        return state | ({"course": self.course.get_state()} if self.course else {})

    def set_state(self, state: JsonObject) -> None:
        """Go on from a state. Raises `LearnableError` where it is of another number of prompts."""
        if len(state["weights"]) != self.count:
            raise LearnableError(
                f"the live sampler's state is of {len(state['weights'])} prompts, and there are {self.count}: go on "
                "with the set that the run began with"
            )
        self.rates.set_state(state)
        self.order, self.last_drawn = state["order"].copy(), state["last_drawn"].copy()
        self.batches = int(state["batches"])
        self.generator.bit_generator.state = state["generator"]
        if self.course:
            self.course.set_state(state["course"])


class LiveOrder:
    """The order in which TRL's data loader reads rows: iterate it as a sampler. `draw` returns the next batch.

    A data loader reads ahead, so a batch may be drawn that is not yet trained on: `pending` has those, and a run that
    goes on begins with them.
    """

    def __init__(self, picker: PromptPicker) -> None:
        self.picker = picker
        self.draw: Callable[[], list[int]] = picker.draw
        self.pending: list[list[int]] = []
        self.waiting: list[list[int]] = []

    def __len__(self) -> int:
        """Return the indices of an epoch: as many whole batches as the prompts fill."""
        layout = self.picker.layout
        return self.picker.count // layout.prompts * layout.prompts * layout.group_size * layout.repeats

    def __iter__(self) -> Iterator[int]:
        """Yield an epoch of indices, in the layout of TRL's `RepeatSampler`."""
        layout = self.picker.layout
        for _ in range(self.picker.count // layout.prompts):
            batch = self._next_batch()
            for _ in range(layout.repeats):
                for index in batch:
                    yield from [index] * layout.group_size

    def _next_batch(self) -> list[int]:
        if self.waiting:
            return self.waiting.pop(0)
        batch = self.draw()
        self.pending.append(batch)
        return batch

    def finish_batch(self) -> None:
        """Say that all of the oldest pending batch is trained on."""
        self.pending.pop(0)
        if self.picker.course:
            self.picker.course.finish_batch()

    def resume(self, pending: Sequence[Sequence[int]]) -> None:
        """Begin with the batches that were pending when a state was kept."""
        self.pending = [list(batch) for batch in pending]
        self.waiting = [list(batch) for batch in pending]
