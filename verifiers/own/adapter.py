"""A judge of a user's, a function, a class or an object, made into a `Verifier`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.records import Score, Spec
from learnable.verifiers.own.loading import JudgeError, describe_fault, find_place, load_judge
from learnable.verifiers.protocol import SpecError, verifier_time_limit

OFFERED = ("prompt", "spec")
SIGNATURE = "def judge(completion, prompt, spec), where prompt and spec may be left out"
NO_SCORE = "the judge returned None"
ANSWERS = "return a number from 0 to 1, True or False, a Score, or None where nothing honest can be said"


@dataclass(frozen=True, slots=True)
class OwnJudge:
    """A user's judge behind the protocol of verifiers. What else it has, such as `time_limit`, is passed on.

    `call` judges one completion and takes those of `prompt` and `spec` that `keywords` names. `version` is the
    judge's own, or a hash of its source, so that an edited judge scores what is stored anew.
    """

    name: str
    version: str
    file: str
    judge: Any
    call: Callable[..., object]
    keywords: frozenset[str]

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
            return as_score(self.call(completion, **{key: offered[key] for key in self.keywords}))
        except Exception as error:
            if place := find_place(error, self.file):
                error.add_note(place)
            raise


def find_own_judge(name: str) -> OwnJudge:
    """Import the judge that `name` names, and fill in what it lacks.

    Raises `JudgeError` for one that cannot be used, and `LearnableError` for a wrong `time_limit`.
    """
    loaded = load_judge(name)
    try:
        judge = _made(name, loaded.judge)
        version = getattr(judge, "version", None)
        own_name = getattr(judge, "name", None)
        call = _callable(name, judge)
        keywords = _keywords(name, call)
    except LearnableError:
        raise
    except Exception as error:
        raise JudgeError(
            f"verifier {name!r} cannot be used: {describe_fault(error)}. Mend it and start again"
        ) from error
    whole = OwnJudge(str(own_name or name), str(version or loaded.source_hash), loaded.file, judge, call, keywords)
    verifier_time_limit(whole)  # a wrong one is found here, before any completion waits for it
    return whole


def as_score(answer: object) -> Score:
    """Return what a judge answered as a `Score`. Yes and full marks have passed; None is not scored.

    >>> as_score(0.5).passed, as_score(1).passed, as_score(False).reward
    (False, True, 0.0)
    """
    if isinstance(answer, Score):
        return answer
    if answer is None:
        return Score.unscored(NO_SCORE)
    item = getattr(answer, "item", None)
    value = item() if callable(item) else answer  # a number of numpy's or torch's
    if isinstance(value, Real):
        return Score(float(value), bool(value == 1))
    raise TypeError(f"the judge returned {_shown(answer)}: {ANSWERS}")


def _made(name: str, found: Any) -> Any:
    """Return the judge itself: a class is made without arguments."""
    if not isinstance(found, type):
        return found
    needed = _needed(inspect.signature(found).parameters.values())
    if needed:
        raise JudgeError(
            f"verifier {name!r}: {found.__name__}() needs {', '.join(needed)}: give defaults, or name an object, "
            f"as in judge = {found.__name__}(...)"
        )
    return found()


def _callable(name: str, judge: Any) -> Callable[..., object]:
    """Return what judges: `score` of an object that has one, or the object itself."""
    call = getattr(judge, "score", None) if not inspect.isroutine(judge) else None
    call = judge if call is None else call
    if not callable(call):
        raise JudgeError(
            f"verifier {name!r} is {_shown(judge)}, which cannot judge: name a function, or a class with score(): "
            f"{SIGNATURE}"
        )
    if inspect.iscoroutinefunction(call):
        raise JudgeError(f"verifier {name!r} is async, which nobody would await: write {SIGNATURE}")
    return call  # type: ignore[no-any-return]


def _keywords(name: str, call: Callable[..., object]) -> frozenset[str]:
    """Return which of `prompt` and `spec` this judge takes."""
    try:
        first, *rest = inspect.signature(call).parameters.values()
    except ValueError as error:  # no parameters, or a built-in function that does not tell
        raise JudgeError(f"verifier {name!r} takes no completion: write {SIGNATURE}") from error
    if first.name == "completions":
        raise JudgeError(
            f"verifier {name!r} takes a list of completions, but is given one at a time: write {SIGNATURE}"
        )
    if first.name in OFFERED or first.kind in (first.KEYWORD_ONLY, first.VAR_KEYWORD):
        raise JudgeError(f"verifier {name!r}: its first parameter is not the completion: write {SIGNATURE}")
    if needed := [other for other in _needed(rest) if other not in OFFERED]:
        raise JudgeError(
            f"verifier {name!r} needs {', '.join(needed)}, which nobody gives it: write {SIGNATURE}; what a row "
            'knows is in spec, as in spec["answer"]'
        )
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in rest):
        return frozenset(OFFERED)
    return frozenset(parameter.name for parameter in rest if parameter.name in OFFERED)


def _needed(parameters: Any) -> list[str]:
    return [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _shown(value: object) -> str:
    text = " ".join(repr(value).split())
    return f"{text[:60]} ({type(value).__name__})"
