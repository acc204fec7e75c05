"""What a verifier is: a name, a version, a check of its spec, and a judgement of one completion.

Below it are the checks of specs that verifiers share: each says key, value and fix.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Protocol, runtime_checkable

from learnable.data.errors import LearnableError, nearest_names
from learnable.data.records import Score, Spec

DEFAULT_TIME_LIMIT = 30.0


class SpecError(LearnableError):
    """A spec the verifier cannot use; the message names the key, the value and the fix."""


@runtime_checkable
class Verifier(Protocol):
    """Judges completions.

    A verifier holds no state between calls, may be called from several processes, and raises only for
    its own faults: a wrong answer is `Score(reward=0.0, passed=False)`, never an exception. `version`
    changes whenever the same completion could get another score.

    A verifier may also have `notice`, one sentence users must read before it runs (see `verifier_notice`),
    `conditions`, what of this machine its scores were made under (see `verifier_conditions`),
    `time_limit`, the seconds it may take for one completion (see `verifier_time_limit`), `memory_limit`, the bytes (see
    `verifier_memory_limit`), `warm_up()`, which loads ahead of time what `score` would load on its first call, and
    `extract(completion, spec=spec)`, the answer it reads out of a completion (see `extract_answer`).
    """

    @property
    def name(self) -> str:
        """The name users type, e.g. `poetry`."""

    @property
    def version(self) -> str:
        """Part of a score's key: scores of another version are not reused."""

    def check_spec(self, spec: Spec) -> None:
        """Raise `SpecError` if `spec` lacks a key or holds a value that `score` could not use."""

    def score(self, completion: str, *, prompt: str, spec: Spec) -> Score:
        """Judge one completion of `prompt`, with a spec that `check_spec` has passed."""


def verifier_notice(verifier: Verifier) -> str:
    """Return what users must be told before this verifier runs: its `notice`, or nothing if it has none."""
    return str(getattr(verifier, "notice", ""))


def verifier_conditions(verifier: Verifier) -> dict[str, str]:
    """Return what a curated set should record of the machine beside the scores, such as how programs are confined."""
    return dict(getattr(verifier, "conditions", {}))


def verifier_time_limit(verifier: Verifier) -> float:
    """Return the seconds after which a completion goes unscored: the verifier's `time_limit`, or the default.

    It must exceed the slowest honest judgement on a busy machine. Raises `LearnableError` for what is no such number.
    """
    seconds = getattr(verifier, "time_limit", DEFAULT_TIME_LIMIT)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
        raise LearnableError(f"verifier {verifier.name!r}: time_limit is {seconds!r}: give seconds, more than 0")
    return float(seconds)


def verifier_memory_limit(verifier: Verifier) -> int | None:
    """Return the bytes that a completion may take in a scoring process, beside what that has before; None for any.

    Raises `LearnableError` for what is no such number.
    """
    size = getattr(verifier, "memory_limit", None)
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size <= 0):
        raise LearnableError(f"verifier {verifier.name!r}: memory_limit is {size!r}: give bytes, more than 0")
    return size


def has_extractor(verifier: Verifier) -> bool:
    """Say whether this verifier reads one short answer out of a completion, so that answers can be compared."""
    return callable(getattr(verifier, "extract", None))


def extract_answer(verifier: Verifier, completion: str, spec: Spec) -> str | None:
    """Return the answer that `score` would judge, as its verifier's `extract` reads it.

    Equal answers are equal text, whatever the words around them. None where the completion holds no answer, and
    always for a verifier without `extract`: `has_extractor` says which of the two it is. Raises whatever the verifier
    raises.
    """
    extract = getattr(verifier, "extract", None)
    answer = extract(completion, spec=spec) if callable(extract) else None
    return None if answer is None else str(answer)


def fault(key: str, value: object, fix: str) -> SpecError:
    """Return the error to raise for a spec whose `key` holds a `value` of no use; `fix` says what to write instead."""
    shown = repr(value)
    return SpecError(f"spec key {key!r} is {shown if len(shown) <= 80 else shown[:77] + '...'}: {fix}")


def check_keys(spec: Spec, required: Collection[str], optional: Collection[str] = ()) -> None:
    """Raise `SpecError` for a missing key, or for one that the verifier would silently ignore.

    `form` may label any spec, whether or not the verifier looks at it.
    """
    for key in required:
        if key not in spec:
            raise SpecError(f"spec key {key!r} is missing in {dict(spec)!r}: add it")
    known = [*required, *optional]
    for key in spec:
        if key not in known and key != "form":
            near = nearest_names(str(key), known)
            fix = f"did you mean {near[0]!r}?" if near else f"use only {', '.join(known)}"
            raise fault(str(key), spec[key], f"no such key; {fix}")


def check_int(spec: Spec, key: str) -> None:
    """Raise `SpecError` unless `spec[key]` is a whole number (and not a boolean)."""
    if isinstance(spec[key], bool) or not isinstance(spec[key], int):
        raise fault(key, spec[key], "give a whole number, as in 23")


def check_text(spec: Spec, key: str) -> None:
    """Raise `SpecError` unless `spec[key]` is text with something in it."""
    if not isinstance(spec[key], str) or not spec[key].strip():
        raise fault(key, spec[key], "give a non-empty string")
