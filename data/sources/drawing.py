"""The order in which prompts are looked at: drawn by the seed, so that the order of a file decides nothing."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from learnable.data.records import Prompt, canonical_json
from learnable.data.sources.chance import hash_to_integer, hash_to_uniform
from learnable.data.sources.packed import ID_BYTES, PackedPrompts

UNUSED = 10_000  # prompts that are held beyond twice what was needed when last looked, before it is looked again
HIGHEST_HASH = 2**64 - 1
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]
Label = tuple[str, str, str]  # of a stratum: family, form, level


@dataclass(slots=True)
class Drawn:
    """Distinct prompts in the order of the draw; `duplicates` counts further rows with the content of one of them."""

    prompts: PackedPrompts = field(default_factory=PackedPrompts)
    duplicates: int = 0


def draw_prompts(candidates: Iterable[Prompt], limit: int | None, seed: int) -> Drawn:
    """Put distinct prompts in the order of a draw, and return the first `limit` of them, or all.

    Prompts are ranked by a hash of the seed and their id, within strata: family, form, and difficulty to one
    significant digit. The strata are interleaved in proportion: the prompt of rank j (from 0) among N has the place
    (j + u) / N, u a hash of the stratum. So it is systematic sampling with a random start in each stratum: the first
    share of the order holds that share of every stratum, to one prompt, and every prompt is as likely to be in it.

    Where the pool grows, a stratum keeps its order, and so does a pool of one stratum. Between strata places move with
    their sizes. With a limit, at most so many prompts of each stratum are held at a time, and of all others the ids.
    """
    draw = _Draw(limit, seed)
    for prompt in candidates:
        draw.add(prompt)
    return draw.result()


def take_prompts(candidates: Iterable[Prompt], limit: int | None) -> Drawn:
    """Return the first `limit` distinct prompts of a source that draws by the seed itself, or all."""
    copies: Counter[str] = Counter()
    drawn = Drawn()
    for prompt in candidates:
        if limit is not None and len(drawn.prompts) >= limit:
            break
        copies[prompt.prompt_id] += 1
        if copies[prompt.prompt_id] == 1:
            drawn.prompts.append(prompt)
    drawn.duplicates = copies.total() - len(copies)
    return drawn


@dataclass(frozen=True, slots=True)
class _Distinct:
    """Distinct prompts, by the hash that ranks them; arrays of one length.

    Each has the row that stands for its repeats, and whether that one is still a candidate; its stratum, counted in the
    order of their labels, and the place it has there; and its number of copies beyond the first.
    """

    rows: Indices
    is_candidate: Flags
    strata: Indices
    places: Indices
    copies: Indices


class _Draw:
    """Rows as they come: 22 bytes of each, and the prompts of those that may be drawn."""

    def __init__(self, limit: int | None, seed: int) -> None:
        self._limit = limit
        self._seed = seed
        self._numbers: dict[Label, int] = {}  # of the strata, as they were met
        self._bounds: list[int] = []  # the highest hash of each that may be drawn
        self._stratum_of, self._hashes, self._ids = array("I"), array("Q"), bytearray()
        self._candidates, self._row_of_candidate = PackedPrompts(), array("Q")
        self._needed = 0  # of those held, when last looked

    def add(self, prompt: Prompt) -> None:
        """Take a prompt in. Of several with one id that stays whose kind comes first, whatever their order."""
        number = self._numbers.setdefault(_label(prompt), len(self._numbers))
        if number == len(self._bounds):
            self._bounds.append(HIGHEST_HASH)
        place = hash_to_integer(self._seed, "order", prompt.prompt_id)
        if place <= self._bounds[number]:
            self._row_of_candidate.append(len(self._hashes))
            self._candidates.append(prompt)
        self._stratum_of.append(number)
        self._hashes.append(place)
        self._ids += bytes.fromhex(prompt.prompt_id)
        if len(self._candidates) > 2 * self._needed + UNUSED:
            self._narrow()

    def result(self) -> Drawn:
        found = self._find_distinct()
        starts = np.array([hash_to_uniform(self._seed, "start", *label) for label in sorted(self._numbers)])
        places = (found.places + starts[found.strata]) / np.bincount(found.strata)[found.strata]
        order = np.lexsort((found.strata, places))
        first = order[found.is_candidate[order]][: self._limit]
        chosen = np.searchsorted(self._candidate_rows, found.rows[first]).astype(np.uint64)
        return Drawn(self._candidates.take(array("Q", chosen.tobytes())), int(found.copies[first].sum()))

    def _narrow(self) -> None:
        """Let go of prompts that repeat others, or that so many of their stratum come before as can be drawn."""
        found, names = self._find_distinct(), sorted(self._numbers)
        may_be_drawn = np.full(len(found.rows), True) if self._limit is None else found.places < self._limit
        for last in np.flatnonzero(found.places + 1 == self._limit):
            self._bounds[self._numbers[names[found.strata[last]]]] = self._hashes[found.rows[last]]
        is_needed = np.full(len(self._hashes), False)
        is_needed[found.rows[may_be_drawn]] = True
        kept = is_needed[self._candidate_rows]
        self._needed = int(kept.sum())
        if self._needed < len(kept):
            self._candidates = self._candidates.take(array("Q", np.flatnonzero(kept).astype(np.uint64).tobytes()))
            self._row_of_candidate = array("Q", self._candidate_rows[kept].tobytes())

    def _find_distinct(self) -> _Distinct:
        numbers = [self._numbers[label] for label in sorted(self._numbers)]
        strata = np.argsort(numbers)[np.frombuffer(self._stratum_of, np.uint32)]
        ids, hashes = np.frombuffer(self._ids, f"S{ID_BYTES}"), np.frombuffer(self._hashes, np.uint64)
        is_candidate = np.full(len(hashes), False)
        is_candidate[self._candidate_rows] = True
        # Repeats are together, those of the first kind before others.
        rows = np.lexsort((~is_candidate, strata, ids, hashes))
        is_first = np.append(True, ids[rows[1:]] != ids[rows[:-1]])[: len(rows)]
        firsts, chosen = np.flatnonzero(is_first), rows[is_first]
        repeated = chosen[np.cumsum(is_first) - 1]
        for at in np.flatnonzero(~is_first & is_candidate[rows] & (strata[rows] == strata[repeated])):
            group = np.searchsorted(firsts, at) - 1
            chosen[group] = min(chosen[group], rows[at], key=self._read_content)
        by_stratum = np.argsort(strata[chosen], kind="stable")
        sizes = np.bincount(strata[chosen])
        places = np.empty(len(chosen), np.int64)
        places[by_stratum] = np.arange(len(chosen)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        copies = np.diff(np.append(firsts, len(rows))) - 1
        return _Distinct(chosen, is_candidate[chosen], strata[chosen], places, copies)

    @property
    def _candidate_rows(self) -> NDArray[np.uint64]:
        return np.frombuffer(self._row_of_candidate, np.uint64)

    def _read_content(self, row: int) -> str:
        return _content(self._candidates[int(np.searchsorted(self._candidate_rows, row))])


def _label(prompt: Prompt) -> Label:
    # One digit, since users' scales differ: 3.4 is level 3, .34 is level .3, a rating of 1,350 is level 1,000.
    level = "" if prompt.difficulty is None else f"{prompt.difficulty:.0e}"
    return prompt.family, prompt.form, level


def _content(prompt: Prompt) -> str:
    return canonical_json([prompt.difficulty, prompt.named_problem, prompt.columns])
