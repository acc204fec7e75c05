"""The order in which prompts are looked at: drawn by the seed, so that the order of a file decides nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappush, heappushpop

from learnable.data.records import Prompt, canonical_json
from learnable.data.sources.chance import hash_to_integer, hash_to_uniform
from learnable.data.sources.packed import PackedPrompts

UNUSED = 10_000  # prompts that are held though they were left, before the others are packed anew
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


@dataclass(slots=True)
class _Stratum:
    """How many distinct prompts it has, and those with the lowest hashes, as a heap with the highest on top."""

    size: int = 0
    heap: list[tuple[int, str]] = field(default_factory=list)


class _Draw:
    def __init__(self, limit: int | None, seed: int) -> None:
        self._limit = limit
        self._seed = seed
        self._strata: dict[Label, _Stratum] = {}
        self._label_of: dict[int, Label] = {}  # by prompt id, as a number: it takes less room than the text
        self._packed = PackedPrompts()
        self._candidates: dict[str, int] = {}  # by prompt id: its place among those held
        self._copies: Counter[int] = Counter()

    def add(self, prompt: Prompt) -> None:
        """Take a prompt in. Of several with one id that stays whose kind comes first, whatever their order."""
        label, number = _label(prompt), int(prompt.prompt_id, 16)
        known = self._label_of.get(number)
        if known is None:
            self._enter(prompt, label, number)
            return
        self._copies[number] += 1
        if label < known:
            self._leave(prompt.prompt_id, known)
            self._enter(prompt, label, number)
        elif label == known and prompt.prompt_id in self._candidates:
            self._hold(min(self._packed[self._candidates[prompt.prompt_id]], prompt, key=_content))

    def result(self) -> Drawn:
        places = sorted(self._places())[: self._limit]
        names = [prompt_id for _, _, prompt_id in places]
        copies = sum(self._copies[int(name, 16)] for name in names) if self._copies else 0
        return Drawn(self._packed.take(self._candidates[name] for name in names), copies)

    def _enter(self, prompt: Prompt, label: Label, number: int) -> None:
        stratum = self._strata.setdefault(label, _Stratum())
        stratum.size += 1
        self._label_of[number] = label
        self._hold(prompt)
        item = (-hash_to_integer(self._seed, "order", prompt.prompt_id), prompt.prompt_id)
        if self._limit is None or len(stratum.heap) < self._limit:
            heappush(stratum.heap, item)
        else:
            del self._candidates[heappushpop(stratum.heap, item)[1]]

    def _hold(self, prompt: Prompt) -> None:
        self._candidates[prompt.prompt_id] = len(self._packed)
        self._packed.append(prompt)
        if len(self._packed) > 2 * len(self._candidates) + UNUSED:
            self._packed = self._packed.take(self._candidates.values())
            self._candidates = {name: place for place, name in enumerate(self._candidates)}

    def _leave(self, prompt_id: str, label: Label) -> None:
        stratum = self._strata[label]
        stratum.size -= 1
        if prompt_id in self._candidates:
            del self._candidates[prompt_id]
            stratum.heap = sorted(item for item in stratum.heap if item[1] != prompt_id)

    def _places(self) -> Iterator[tuple[float, Label, str]]:
        for label, stratum in self._strata.items():
            start = hash_to_uniform(self._seed, "start", *label)
            for rank, (_, prompt_id) in enumerate(sorted(stratum.heap, reverse=True)):
                yield (rank + start) / stratum.size, label, prompt_id


def _label(prompt: Prompt) -> Label:
    # One digit, since users' scales differ: 3.4 is level 3, .34 is level .3, a rating of 1,350 is level 1,000.
    level = "" if prompt.difficulty is None else f"{prompt.difficulty:.0e}"
    return prompt.family, prompt.form, level


def _content(prompt: Prompt) -> str:
    return canonical_json([prompt.difficulty, prompt.named_problem, prompt.columns])
