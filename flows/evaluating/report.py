"""What an evaluation came to, as `--json` and `--output` have it, and how it is read again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from learnable.data.errors import LearnableError
from learnable.data.records import JsonObject, Sampling
from learnable.data.storage.places import write_whole
from learnable.train.results.evaluation import Evaluation, PromptResult
from learnable.train.results.figures import Figures
from learnable.train.results.report import without_nan


@dataclass(frozen=True, slots=True)
class OtherPolicy:
    """The policy that another one was compared with.

    `figures` are its own; `changes` what the other one has more than it, over the prompts that both have answered.
    """

    policy_id: str
    figures: Sequence[Figures]
    changes: Sequence[Figures]
    verdict: str


@dataclass(frozen=True, slots=True)
class EvalReport:
    """An evaluation: what was measured and how, the figures, and each prompt's own.

    `tokens` are those of all its completions, `generated` counts those that were made now, `seconds` are of wall clock.
    """

    curated: str
    policy_id: str
    held_out: str
    sampling: Sampling
    group_size: int
    k: int
    confidence: float
    seed: int
    figures: Sequence[Figures]
    against: OtherPolicy | None
    tokens: int
    generated: int
    seconds: float
    prompts: Sequence[PromptResult]

    def to_json(self) -> JsonObject:
        """Return the report as plain data; what could not be estimated is null."""
        plain: JsonObject = without_nan(asdict(self) | {"sampling": self.sampling.to_json()})
        return plain

    def write(self, path: Path) -> None:
        """Write the report, whole or not at all. Raises `LearnableError` where it cannot be written."""
        text = json.dumps(self.to_json(), indent=2) + "\n"
        try:
            write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))
        except OSError as error:
            raise LearnableError(f"`output` {str(path)!r} cannot be written: {error.strerror or error}") from error


def read_eval_report(path: Path, sampling: Sampling) -> Evaluation:
    """Return what `EvalReport.write` wrote of each prompt.

    Raises `LearnableError` for a file that it did not write, and for completions that were not sampled so.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        prompts = tuple(PromptResult(**prompt) for prompt in values["prompts"])
        evaluation = Evaluation(values["policy_id"], prompts, values["tokens"], values["seconds"])
        theirs = Sampling.from_json(values["sampling"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LearnableError(
            f"`against` {str(path)!r} is not what learnable eval --output wrote ({error}): give such a file, or a "
            "policy"
        ) from error
    if theirs != sampling:
        raise LearnableError(
            f"`against` {str(path)!r} was sampled otherwise ({theirs.to_json()}, here {sampling.to_json()}): the two "
            "cannot be compared"
        )
    return evaluation
