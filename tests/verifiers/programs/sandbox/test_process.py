"""Whatever a process writes on its channel: no crash, no pass, and never a wait without end."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from learnable.verifiers.completions import strip_thinking
from learnable.verifiers.programs.extraction import extract_program
from learnable.verifiers.programs.judge import _mark
from learnable.verifiers.programs.sandbox.jail.codec import MAX_NESTING, decode, encode, pack
from learnable.verifiers.programs.sandbox.jail.server import EXIT_REPORT, NOT_KILLED
from learnable.verifiers.programs.sandbox.outcome import ProgramOutcome, read_answers
from learnable.verifiers.programs.sandbox.process import (
    MAX_ANSWER_BYTES,
    CandidateProcess,
    SandboxError,
    ViolationError,
)
from learnable.verifiers.programs.test_code.cases import make_cases
from learnable.verifiers.programs.test_code.equality import EQUALITIES, matches

SECRET = ["an answer", 7, {"that": "nobody guesses"}]
HASHABLE = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
VALUES = st.recursive(
    HASHABLE | st.complex_numbers(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.sets(HASHABLE, max_size=4)
        | st.frozensets(HASHABLE, max_size=4)
        | st.dictionaries(HASHABLE, inner, max_size=4)
    ),
    max_leaves=12,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("ifstzdbcyq"), inner, max_size=2),
    max_leaves=12,
)
FRAMES = st.lists(
    st.tuples(
        st.sampled_from(["ready", "loaded", "failed", "answer", "raised", "call", ""]), JSON | st.integers(-1, 3), JSON
    ).map(list)
    | JSON,
    max_size=5,
)


def said(content: bytes) -> ProgramOutcome | None:
    """Read what a process says, as the judge does; None for a violation."""
    ours, theirs = socket.socketpair()
    our_line, their_line = socket.socketpair()
    with theirs, their_line, CandidateProcess(ours, our_line, 1.0) as process:
        their_line.send(EXIT_REPORT.pack(0, 0.1, NOT_KILLED))

        def write() -> None:
            try:
                theirs.sendall(content)
            except OSError:
                return  # the judge has hung up
            theirs.shutdown(socket.SHUT_WR)

        writer = threading.Thread(target=write)
        writer.start()
        outcome = ProgramOutcome()
        try:
            if not read_answers(process, outcome, 2):
                outcome.end = process.end().how
        except ViolationError:
            return None
        finally:
            ours.close()
            writer.join()
    return outcome


def passes(outcome: ProgramOutcome | None, equality: str = "plain") -> int:
    cases = make_cases([[[], SECRET], [[], SECRET]], equality)
    return 0 if outcome is None else sum(_mark(outcome, [case.passes for case in cases]).right)


@given(content=st.binary(max_size=200))
@example(content=b"\x00\x00\x00\x00")
@example(content=b"\xff\xff\xff\x7f")
@example(content=b"\x01\x00\x00\x000")
@example(content=(MAX_ANSWER_BYTES).to_bytes(4, "little") + b"[" * MAX_ANSWER_BYTES)
@example(content=pack(["loaded", 0, None]) * 2)
@example(content=b"\x02\x00\x00\x00[]" * 300_000)
def test_no_bytes_pass(content: bytes) -> None:
    assert passes(said(content)) == 0


@given(frames=FRAMES, equality=st.sampled_from(list(EQUALITIES)))
@example(frames=[["loaded", 0, None], ["answer", 0, {"y": "object"}]], equality="plain")
@example(frames=[["loaded", 0, None], ["answer", 0, {"d": [[[], 1]]}]], equality="plain")
@example(frames=[["loaded", 0, None], ["answer", 0, {"f": "0x1p9999999"}]], equality="close")
@example(frames=[["loaded", 0, None], ["answer", 0, {"i": 5}], ["answer", 1, {"c": [1]}]], equality="unordered")
@example(frames=[["failed", "load", "no"], ["answer", 0, encode(SECRET)]], equality="plain")
def test_no_frames_pass(frames: list[Any], equality: str) -> None:
    assert passes(said(b"".join(map(pack, frames))), equality) == 0


def test_the_right_frames_do() -> None:
    answer = encode(SECRET)
    right = [["loaded", 0, None], ["answer", 0, answer], ["answer", 1, answer]]
    assert passes(said(b"".join(map(pack, right)))) == 2
    assert passes(said(b"".join(map(pack, right[:2])))) == 1
    assert passes(said(b"".join(map(pack, [right[0], right[2]])))) == 0, "out of turn"
    assert passes(said(b"".join(map(pack, [*right[:2], right[1]])))) == 0, "twice"


def test_a_report_that_never_comes_is_the_sandboxs_fault() -> None:
    ours, theirs = socket.socketpair()
    our_line, their_line = socket.socketpair()
    theirs.close()
    with CandidateProcess(ours, our_line, 1.0) as process:
        their_line.close()
        assert process.next_frame() is None
        with pytest.raises(SandboxError, match="server ended"):
            process.end()


@given(value=VALUES)
def test_values_come_back_as_they_went(value: Any) -> None:
    tree = json.loads(json.dumps(encode(value)))
    back = decode(tree)
    assert back == value
    assert type(back) is type(value)
    for equality in EQUALITIES:
        assert matches(tree, value, equality)


@given(tree=JSON)
def test_any_tree_is_read_or_refused(tree: Any) -> None:
    try:
        decode(tree)
    except (ValueError, TypeError, OverflowError):
        return


def test_depth_is_bounded() -> None:
    value: list[Any] = []
    for _ in range(MAX_NESTING + 1):
        value = [value]
    with pytest.raises(ValueError, match="nested too deep"):
        encode(value)


@given(one=VALUES, other=VALUES)
def test_equalities_agree_with_python(one: Any, other: Any) -> None:
    tree = encode(one)
    assert matches(tree, other, "plain") == (one == other)
    if matches(tree, other, "strict"):
        assert one == other
    if one == other:
        assert matches(tree, other, "close")
        assert matches(tree, other, "unordered")


@given(items=st.lists(HASHABLE), data=st.data())
def test_unordered_is_a_question_of_counts(items: list[Any], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(items))
    assert matches(encode(shuffled), items, "unordered")
    assert not matches(encode([*shuffled, "one more"]), items, "unordered")


@pytest.mark.parametrize(
    ("answer", "expected", "equal"),
    [
        (True, 1, {"plain", "close", "unordered"}),
        (2.0, 2, {"plain", "close", "unordered"}),
        (0.1 + 0.2, 0.3, {"close"}),
        ((1, 2), [1, 2], set()),
        ([2, 1], [1, 2], {"unordered"}),
        ([[2, 1], 3], [3, [1, 2]], {"unordered"}),
        ({1}, {True}, {"plain", "close", "unordered"}),
        ({1: "a"}, {1.0: "a"}, {"plain", "close", "unordered"}),
        ([1, 1, 2], [1, 2, 2], set()),
        (float("nan"), float("nan"), set()),
        (10**30, 1e30, {"close"}),
        ([], None, set()),
    ],
)
def test_equality_policies(answer: Any, expected: Any, equal: set[str]) -> None:
    assert {equality for equality in EQUALITIES if matches(encode(answer), expected, equality)} == equal


@given(
    text=st.text()
    | st.lists(
        st.sampled_from(
            ["```", "```python\n", "def f(x):\n", "    return x\n", "Prose. ", '"""', "\n", "<think>", "</think>"]
        )
    ).map("".join)
)
def test_extraction_takes_a_part_of_any_text(text: str) -> None:
    program = extract_program(text, "f")
    assert all(line.strip() in strip_thinking(text) for line in program.splitlines())
