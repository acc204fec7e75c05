"""What a loop of training and refreshing depends on, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from learnable.data.errors import LearnableError
from learnable.data.settings import Setting, check_settings
from learnable.flows.settings.curation import HERE, RefreshSettings, ScoreOn, VerifierTimeout, Wait, Workers
from learnable.flows.settings.evaluation import EvalSettings
from learnable.rollouts.settings import VLLMSettings
from learnable.train.settings import TrainSettings


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """Everything that a loop depends on. Raises `LearnableError` for settings that cannot work.

    `train` is how each round trains. Its set and policy are those of the first round, its `output` is the folder of the
    loop (empty for `runs/loop-NAME-N`), and what it says of evaluations is how every policy is measured.
    """

    train: TrainSettings
    rounds: Annotated[
        int, Setting("Most rounds; fewer where a gain is inside its noise.", at_least=1, advice="3 is usual")
    ] = 3
    anchors: Annotated[
        int,
        Setting(
            "Prompts that each refresh asks first, of every family, in and out of the band.",
            at_least=1,
            advice="100 is usual",
        ),
    ] = 100
    workers: Workers = 1
    score_on: ScoreOn = HERE
    verifier_timeout: VerifierTimeout = None
    wait: Wait = True

    def __post_init__(self) -> None:
        check_settings(self)
        if self.train.named_part != "train":
            raise LearnableError(
                f"`part` {self.train.part} is not for a loop, which trains on what is kept: leave it out"
            )
        if not self.train.evaluate:
            raise LearnableError("`evaluate=False` is not for a loop, which goes by held-out reward: leave it out")
        if self.train.resume:
            raise LearnableError("`resume` is not for a loop, which goes on when the same command is given again")

    def make_eval_settings(self, curated: str, policy: str, against: str | None = None) -> EvalSettings:
        """Return how a policy is measured on the held-out prompts of a version. Raises `LearnableError` as they do."""
        train = self.train
        return EvalSettings(
            curated=curated,
            policy=policy,
            verifiers=self.train.verifiers,
            against=against,
            engine=VLLMSettings(dict(train.engine_options or {})),
            held_out=train.held_out,
            group_size=train.eval_group_size,
            k=train.eval_k,
            limit=train.eval_limit,
            families=train.families,
            seed=train.seed,
            workers=self.workers,
            score_on=self.score_on,
            verifier_timeout=self.verifier_timeout,
            wait=self.wait,
        )

    def make_refresh_settings(self, curated: str, policy: str) -> RefreshSettings:
        """Return how a version is refreshed for a policy. Raises `LearnableError` as they do."""
        return RefreshSettings(
            curated=curated,
            policy=policy,
            verifiers=self.train.verifiers,
            engine=VLLMSettings(dict(self.train.engine_options or {})),
            anchors=self.anchors,
            workers=self.workers,
            score_on=self.score_on,
            verifier_timeout=self.verifier_timeout,
            wait=self.wait,
        )
