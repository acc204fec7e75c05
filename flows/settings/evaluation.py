"""What an evaluation depends on, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import Annotated

from upath import UPath

from learnable.data.errors import LearnableError
from learnable.data.records import Sampling
from learnable.data.settings import Setting, check_settings
from learnable.data.storage.places import PathOrUrl, find_place
from learnable.flows.settings.curation import (
    HERE,
    OUTPUT,
    POLICY,
    PROMPTS,
    CurateSettings,
    ScoreOn,
    VerifierTimeout,
    Wait,
    Workers,
)
from learnable.rollouts.registry import EngineSettings
from learnable.rollouts.settings import VLLMSettings
from learnable.train.settings import HeldOutName, TrustedVerifiers


@dataclass(frozen=True, slots=True)
class EvalSettings:
    """Everything that an evaluation depends on. Raises `LearnableError` for settings that cannot work.

    `families` are those of the prompts, empty for all. The set's own `temperature` and `top_p` stand where they are
    None. With `greedy` each prompt also gets one completion at temperature 0.
    """

    curated: Annotated[str, Setting("A curated set: its folder, or a version's.", PROMPTS)]
    policy: Annotated[
        str | None, Setting("Model folder, LoRA adapter's folder, or hub id.", POLICY, usual="the set's own")
    ] = None
    verifiers: TrustedVerifiers = ()
    against: Annotated[
        str | None, Setting("Another policy to compare with, or a file that --output wrote of one.", POLICY)
    ] = None
    engine: EngineSettings = field(default_factory=VLLMSettings)
    held_out: Annotated[
        HeldOutName,
        Setting("pool: held-out prompts that were kept or rejected; kept: the kept ones alone.", PROMPTS),
    ] = "pool"
    group_size: Annotated[int, Setting("New completions a prompt.", at_least=1)] = 32
    k: Annotated[
        int | tuple[int, ...],
        Setting("The k of pass@k, --group-size at most; repeatable, or as 1,4,16."),
    ] = 8
    temperature: Annotated[
        float | None, Setting("Sampling temperature, such as 0.6.", above=0, below=inf, usual="the set's")
    ] = None
    top_p: Annotated[
        float | None, Setting("Nucleus sampling, such as 0.95.", above=0, at_most=1, usual="the set's")
    ] = None
    greedy: Annotated[bool, Setting("Also one completion a prompt at temperature 0.")] = True
    limit: Annotated[int | None, Setting("Most held-out prompts.", PROMPTS, at_least=1, usual="all")] = None
    families: tuple[str, ...] = ()
    confidence: Annotated[float, Setting("That of the intervals.", at_least=0.5, below=1, advice=".95 is usual")] = 0.95
    seed: Annotated[int, Setting("Of the completions, which are kept by it: another one makes others.")] = 0
    store: Annotated[
        str | None,
        Setting("Folder or URL of the store that keeps completions.", OUTPUT, usual="the set's"),
    ] = None
    workers: Workers = 1
    score_on: ScoreOn = HERE
    verifier_timeout: VerifierTimeout = None
    wait: Wait = True

    def __post_init__(self) -> None:
        check_settings(self)
        for k in self.ks:
            if not 1 <= k <= self.group_size:
                raise LearnableError(
                    f"`k` {k} is not among 1 to {self.group_size}, the completions of a prompt: give another, or a "
                    "larger `group_size`"
                )

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


def name_store(root: PathOrUrl, seed: int) -> str:
    """Return the store of the evaluations with a seed, in the store at `root` or in another folder."""
    return str(find_place(root) / "evaluations" / f"seed-{seed}")


@dataclass(frozen=True, slots=True)
class MeasuringSettings(CurateSettings):
    """Those of groups, be they of one completion at temperature 0: nothing is curated from them, and much measured."""

    group_size: Annotated[int, Setting("New completions a prompt.", at_least=1)] = 1

    def _check_bounds(self, sampling: Sampling) -> None:
        """Take a temperature of 0, which a curation refuses."""
        check_settings(replace(sampling, temperature=1.0))
