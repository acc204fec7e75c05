"""A judge of a user's, whatever it is, behind the protocol of verifiers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.records import Score, Spec
from learnable.verifiers.own.loading import describe_fault, find_place
from learnable.verifiers.own.scale import USUAL_SCALE, RewardScale
from learnable.verifiers.protocol import SpecError


@dataclass(frozen=True, slots=True)
class OwnJudge:
    """A user's judge behind the protocol of verifiers. What else it has, such as `time_limit`, is passed on.

    `call` judges one completion and takes those of `prompt` and `spec` that `keywords` names. `version` is the
    judge's own, or `source_hash`, so that an edited judge scores what is stored anew; `scale` says what its numbers are
    worth.
    """

    name: str
    version: str
    file: str
    source_hash: str
    judge: Any
    call: Callable[..., object]
    keywords: frozenset[str]
    scale: RewardScale = USUAL_SCALE

    def __getattr__(self, attribute: str) -> Any:
        if attribute in ("judge", *OwnJudge.__slots__):
            raise AttributeError(attribute)
        return getattr(self.judge, attribute)

    def check_spec(self, spec: Spec) -> None:
        """Let the judge look at a spec, if it can. Raises `SpecError` for whatever the judge raises."""
        check = getattr(self.judge, "check_spec", None)
        if check is None:
            return
        try:
            check(spec)
        except LearnableError:
            raise
        except Exception as error:
            raise SpecError(f"verifier {self.name!r} refuses the spec: {describe_fault(error)}") from error

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one completion.

        Raises `TypeError` for an answer that is no score, and whatever the judge raises, with a note that says where in
        the judge's file it was.
        """
        offered = {"prompt": prompt, "spec": spec}
        try:
            return as_score(self.call(completion, **{key: offered[key] for key in self.keywords}), self.scale)
        except Exception as error:
            if place := find_place(error, self.file):
                error.add_note(place)
            raise


def as_score(answer: object, scale: RewardScale = USUAL_SCALE) -> Score:
    """Return what a judge answered as a `Score`; None is not scored. Raises `TypeError` for what is no answer.

    >>> as_score(0.5).passed, as_score(1).passed, as_score(False).reward
    (False, True, 0.0)
    """
    if isinstance(answer, Score):
        return answer
    if answer is None:
        return Score.unscored("the judge returned None")
    item = getattr(answer, "item", None)
    value = item() if callable(item) else answer  # a number of numpy's or torch's
    if isinstance(value, Real):
        return scale.score(float(value))
    raise TypeError(
        f"the judge returned {shown(answer)}: return a number from 0 to 1, True or False, a Score, or None where "
        "nothing honest can be said"
    )


def shown(value: object) -> str:
    """Return a value and its type for a message, cut to what fits."""
    text = " ".join(repr(value).split())
    return f"{text[:60]} ({type(value).__name__})"
