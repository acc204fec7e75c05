"""Test code that judges a candidate from a process of its own, and calls it by message.

The test code is trusted no more than the candidate with this machine, but it holds the answers: so nothing of the
candidate's reaches it but plain values.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, TypedDict

from .codec import decode, encode, receive, send


class JailJob(TypedDict):
    """What the judge has marshalled: the fields of its `process.SandboxJob`."""

    mode: str
    source: str
    entry: str
    calls: list[tuple[tuple[Any, ...], dict[str, object], list[tuple[str, tuple[Any, ...]]]]]
    text: str
    units: list[str]
    remote: list[str]


class CandidateError(Exception):
    """The candidate raised something that is no built-in exception, or is no more."""


def sit(job: JailJob) -> None:
    """Run the test code, and then each of `units`: statements that pass unless they raise."""
    names: dict[str, Any] = {name: _Remote(name) for name in job["remote"]}
    names["candidate"] = names[job["entry"]]
    names["__name__"] = "__test__"
    try:
        exec(compile(job["source"], "<tests>", "exec", dont_inherit=True), names)
    except BaseException as error:
        send(["failed", "load", f"{type(error).__name__}: {error}"[:200]])
        return
    send(["loaded", 0, None])
    for index, unit in enumerate(job["units"]):
        try:
            exec(compile(unit, "<test>", "exec", dont_inherit=True), names)
            frame = ["answer", index, True]
        except BaseException as error:
            frame = ["raised", index, type(error).__name__[:80]]
        send(frame)


class _Remote:
    """A function of the candidate's."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *positional: Any, **keywords: Any) -> Any:
        send(["call", self.__name__, [encode(list(positional)), encode(keywords)]])
        answer = receive()
        if answer is None:
            raise CandidateError("it has ended")
        worked, value = answer
        if worked:
            return decode(value)
        raise _exception(value)


def _exception(name: str) -> BaseException:
    kind: Callable[..., Any] | None = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind()
        except TypeError:  # one that cannot be made without arguments
            return CandidateError(name)
    return CandidateError(name)
