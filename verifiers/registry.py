"""Verifiers by name: ours, yours as `FILE.py:OBJECT` or `MODULE:OBJECT`, TRL's, or a package's."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.records import RECORDED, installed_verifiers, is_own_verifier
from learnable.verifiers import domains
from learnable.verifiers.own.adapter import OwnJudge
from learnable.verifiers.own.finding import find_own_judge
from learnable.verifiers.own.loading import SHAPE, JudgeError
from learnable.verifiers.own.trust import find_trusted, trust
from learnable.verifiers.protocol import Verifier
from learnable.verifiers.recorded import RecordedVerifier

_own_judges: dict[tuple[str, str], OwnJudge] = {}  # by name and the working directory it was read in
_loading = threading.Lock()


def find_verifier(name: str) -> Verifier:
    """Return the verifier called `name`, as data may name it: one of ours, of a package, or one that is trusted.

    Raises `UnknownNameError` with the nearest names, `UntrustedVerifierError` for a user's own that only data names, or
    `JudgeError` when it cannot be imported or cannot judge.
    """
    if name in domains.VERIFIERS or not is_own_verifier(name):
        return _find_ours(name)
    typed = find_trusted(name)
    key = (typed, str(Path.cwd()))
    if key not in _own_judges:
        with _loading:
            if key not in _own_judges:
                _own_judges[key] = find_own_judge(typed)
    return _own_judges[key]


def trust_verifier(name: str) -> Verifier:
    """Return the verifier that a person names: from now on data may name it, in the processes of this run too.

    A user's own is `FILE.py:OBJECT` or `MODULE:OBJECT`: a function, a class, an object, or a reward function as TRL
    calls it (see `OwnJudge` and `RewardFunction`); `trl:NAME` is one of TRL's own. Never give it a name that a file
    says. Raises what `find_verifier` raises.
    """
    if name not in domains.VERIFIERS and is_own_verifier(name):
        trust(name)
    return find_verifier(name)


def trust_verifiers(names: Iterable[str]) -> None:
    """Trust each of these, as `trust_verifier` does. Raises what that raises."""
    for name in names:
        trust_verifier(name)


def check_trusted(names: Iterable[str]) -> None:
    """Raise `UntrustedVerifierError` where data names code that no person has named. Imports nothing.

    Raises `LearnableError` too for rewards that were imported: nobody can judge what is written from now on by them.
    """
    for name in names:
        if name.startswith(RECORDED):
            raise LearnableError(
                f"verifier {name!r} is the rewards that were imported, and judges nothing new: name a judge with "
                "`learnable import ... --verifier NAME`, and use the set that this makes"
            )
        if is_own_verifier(name):
            find_trusted(name)


def source_hash(verifier: Verifier) -> str:
    """Return the hash of the source that a user's own verifier comes from, "" for one of ours."""
    return verifier.source_hash if isinstance(verifier, OwnJudge) else ""


def known_version(name: str) -> str | None:
    """Return the version of a user's judge as this process has read it, or None where it has not."""
    known = _own_judges.get((find_trusted(name), str(Path.cwd()))) if is_own_verifier(name) else None
    return known.version if known else None


@cache
def _find_ours(name: str) -> Verifier:
    if name.startswith(RECORDED):
        return RecordedVerifier(name)
    known = domains.VERIFIERS | domains.SIMULATED_VERIFIERS
    if name.endswith(".py"):
        raise JudgeError(f"verifier {name!r} is only half a name: {SHAPE}")
    if name not in known:
        raise UnknownNameError("verifier", name, {**known, **installed_verifiers()})
    verifier: Verifier = domains.load(known[name])()
    return verifier
