"""Which judges of users' own may run: those that a person has named, and none that only a file names."""

from __future__ import annotations

import json
import os
from pathlib import Path

from learnable.data.records import installed_verifiers
from learnable.verifiers.own.loading import JudgeError

# A JSON list of names. It is in the environment so that the processes of a run, such as a trainer's, have it too.
TRUSTED = "LEARNABLE_TRUSTED_VERIFIERS"


class UntrustedVerifierError(JudgeError):
    """A verifier that data names and no person has: it is code, and is not imported."""


def trust(name: str) -> None:
    """Let `name` be imported, in this process and in those that it starts: a person has named it."""
    names = trusted_names()
    if name not in names:
        os.environ[TRUSTED] = json.dumps([*names, name])


def trusted_names() -> list[str]:
    """Return the names that `trust` was given, as they were typed."""
    return list(json.loads(os.environ.get(TRUSTED, "[]")))


def find_trusted(name: str) -> str:
    """Return the name under which a person trusts the judge that data calls `name`.

    What a package offers needs no trust, for it was installed. A file that now lies elsewhere is taken from where the
    person says, if its name, the object and what stands behind `?` are the same. Raises `UntrustedVerifierError`.
    """
    names = trusted_names()
    if name in names or name in installed_verifiers():
        return name
    moved = [typed for typed in names if ".py:" in name and Path(typed).name == Path(name).name]
    if len(moved) == 1:
        return moved[0]
    raise UntrustedVerifierError(
        f"verifier {name!r} is code that data names, and data may name only verifiers of ours and of installed "
        f"packages: if you know and trust that code, name it yourself, with `verifier` {name!r}, or in Python with "
        "learnable.trust_verifier"
    )
