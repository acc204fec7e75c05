"""Parts of rewards that never fire, or always do, told of when the pilot is scored and nothing long is paid yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from learnable.data.progress import progress
from learnable.data.records import Prompt, Rollout, Score
from learnable.filters.decisions.findings import ENOUGH_PROMPTS, ENOUGH_ROLLOUTS

SHOWN = 60  # characters of a completion
READABLE = "format"  # of scores without a shape: whether an answer was there, which is no part of the reward
# What kinds of parts (`verifiers.answers.rewards`) ask of a completion.
_ASKS = {
    "format": 'it wants every tag once and in order, each on a line of its own unless "strict" is false; the kind '
    '"tags" pays for each tag by itself',
    "tags": "it wants each of its tags once",
    "pattern": "its pattern has to match from the first character on",
    "length": "it begins at the length 'from'",
}


@dataclass(slots=True)
class _Seen:
    """What was seen of one component: how many rollouts had it, of which prompts, at which ends."""

    rollouts: int = 0
    zeros: int = 0
    ones: int = 0
    prompts: set[str] = field(default_factory=set)
    example: str = ""
    kind: str = ""


class ComponentWatch:
    """Looks at the components of scores until it has told what it saw; afterwards it costs nothing."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._told = False

    def add(self, answered: Sequence[tuple[Prompt, Rollout]], scores: Sequence[Score]) -> None:
        """Look at scored rollouts; those without a reward say nothing."""
        if self._told:
            return
        for (prompt, rollout), score in zip(answered, scores, strict=True):
            if score.reward is not None:
                for name, value in score.components.items():
                    self._note(prompt, rollout, name, value)

    def tell(self) -> None:
        """Tell `progress()`, once, of components that were 0, or 1, in every rollout so far."""
        if not self._told:
            self._told = True
            for text, is_dead in self.findings():
                (progress().warn if is_dead else progress().note)(text)
            self._seen.clear()

    def findings(self) -> Iterator[tuple[str, bool]]:
        """Yield a sentence about each constant component, and whether it never fires; too few rollouts say nothing."""
        for (family, name), seen in sorted(self._seen.items()):
            if seen.rollouts < ENOUGH_ROLLOUTS or len(seen.prompts) < ENOUGH_PROMPTS:
                continue
            where = f"all {seen.rollouts:,} rollouts of {len(seen.prompts):,} prompts of the pilot"
            if seen.zeros == seen.rollouts:
                why = f" ({_ASKS[seen.kind]})" if seen.kind in _ASKS else ""
                yield (
                    f"{family}: {name} is 0 in {where}: it never fires{why}. A completion of this policy reads "
                    f"{seen.example!r}: check that prompts ask for it and that the verifier can see it, before more "
                    "is paid",
                    True,
                )
            elif seen.ones == seen.rollouts and (name != READABLE or seen.kind):
                yield f"{family}: {name} is 1 in {where}: it always fires, so GRPO can learn nothing from it", False

    def _note(self, prompt: Prompt, rollout: Rollout, name: str, value: float) -> None:
        seen = self._seen.get((prompt.family, name))
        if seen is None:
            example = rollout.completion[:SHOWN] + ("..." if len(rollout.completion) > SHOWN else "")
            seen = self._seen[prompt.family, name] = _Seen(example=example, kind=_kind(prompt, name))
        seen.rollouts += 1
        seen.zeros += value == 0
        seen.ones += value == 1
        seen.prompts.add(prompt.prompt_id)


def _kind(prompt: Prompt, name: str) -> str:
    """Return the kind of the part of a reward's shape that a component is, "" for any other component."""
    shape = prompt.spec.get("reward")
    part = shape.get(name) if isinstance(shape, Mapping) else None
    return str(part.get("kind", "")) if isinstance(part, Mapping) else ""
