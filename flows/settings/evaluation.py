"""What an evaluation depends on, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from upath import UPath

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.records import Sampling
from learnable.data.storage.places import Place, find_place
from learnable.flows.settings.curation import CurateSettings
from learnable.flows.settings.engines import EngineSettings, VLLMSettings
from learnable.train.settings import HELD_OUT, HeldOutName


@dataclass(frozen=True, slots=True)
class EvalSettings:
    """Everything that an evaluation depends on. Raises `LearnableError` for settings that cannot work.

    `curated` is a set's folder or a version's, and `policy` a model folder or hub id, None for the one that the set was
    curated for. `verifiers` are those of users' own that the set may name. `against` is another policy, or the file of
    an earlier evaluation of one. `held_out` says which of the set's held-out prompts are measured, at most `limit` of
    them: the `kept` ones, or those of the whole `pool`; `families` are theirs, empty for all. Each gets `group_size`
    completions, and with `greedy` one at temperature 0. `k` is that of pass@k, or several. `temperature` and `top_p`
    are the set's own where they are None. `confidence` is that of the intervals. `store` is where completions go, by
    default the store that the set lies in. The rest is as in `CurateSettings`.
    """

    curated: str
    policy: str | None = None
    verifiers: tuple[str, ...] = ()
    against: str | None = None
    engine: EngineSettings = field(default_factory=VLLMSettings)
    held_out: HeldOutName = "pool"
    group_size: int = 32
    k: int | tuple[int, ...] = 8
    temperature: float | None = None
    top_p: float | None = None
    greedy: bool = True
    limit: int | None = None
    families: tuple[str, ...] = ()
    confidence: float = 0.95
    seed: int = 0
    store: str | None = None
    workers: int = 1
    verifier_timeout: float | None = None
    wait: bool = True

    def __post_init__(self) -> None:
        if self.held_out not in HELD_OUT:
            raise UnknownNameError("--held-out", self.held_out, HELD_OUT)
        for k in self.ks:
            if not 1 <= k <= self.group_size:
                raise LearnableError(
                    f"--k {k} is not among 1 to {self.group_size}, the completions of a prompt: give another, or a "
                    "larger --group-size"
                )
        if self.limit is not None and self.limit < 1:
            raise LearnableError(f"--limit {self.limit} leaves no prompt: give 1 or more")
        if not 0.5 <= self.confidence < 1:
            raise LearnableError(f"--confidence {self.confidence:g} is out of range: give .95, or .9")

    @property
    def ks(self) -> tuple[int, ...]:
        """Every `k` once, the smallest first."""
        return (self.k,) if isinstance(self.k, int) else tuple(sorted(set(self.k)))

    def sampling_from(self, usual: Sampling) -> Sampling:
        """Return how completions are drawn: as usual, but for what these settings say."""
        return replace(
            usual,
            temperature=usual.temperature if self.temperature is None else self.temperature,
            top_p=usual.top_p if self.top_p is None else self.top_p,
        )


def find_set_store(version: UPath) -> str | None:
    """Return the store that a version of a set lies in, STORE/curated/NAME/VERSION; None for one elsewhere."""
    sets = version.parent.parent
    return str(sets.parent) if sets.name == "curated" else None


def name_store(root: Place, seed: int) -> str:
    """Return the store of the evaluations with a seed, in the store at `root` or in another folder."""
    return str(find_place(root) / "evaluations" / f"seed-{seed}")


@dataclass(frozen=True, slots=True)
class MeasuringSettings(CurateSettings):
    """Those of groups, be they of one completion at temperature 0: nothing is curated from them, and much measured."""

    def _check_group(self) -> None:
        """Take what a curation refuses."""
