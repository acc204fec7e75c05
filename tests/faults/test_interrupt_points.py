"""Ctrl-C at lines of the way from the engine to the disk: nothing taken is lost, nothing is written twice."""

from __future__ import annotations

import ast
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import settings as profiles

from learnable.data.errors import InterruptedRunError
from learnable.data.ledger.ledger import Ledger
from learnable.data.sources.selection import PromptSet
from learnable.flows.curation.steps import read_prompts, roll_out_and_score
from learnable.flows.engines import policy_for, use_engine
from learnable.flows.run import locked_store, start_run
from learnable.flows.sampling import chunk_writer as chunks
from learnable.flows.settings import CurateSettings
from tests.faults.scripted_for_tests import GROUP_SIZE, ROLLOUTS, PaidEngine, engine_of, run_small, small_settings
from tests.faults.stores_for_tests import check_rollouts, leftovers, rollouts

CHUNK = 12  # rollouts: three groups
PACKAGE = Path(chunks.__file__).parents[2]
WATCHED = [
    *(
        PACKAGE / "flows" / name
        for name in (
            "sampling/chunk_writer.py",
            "sampling/collector.py",
            "sampling/engine_loop.py",
            "curation/steps.py",
        )
    ),
    Path(sys.modules["concurrent.futures.thread"].__file__ or ""),
]
Trace = Callable[[FrameType, str, Any], Any]


def with_lines(path: Path) -> frozenset[int]:
    """Return where blocks are entered, and left: Python raises no interrupt between a block and its `__exit__`."""
    return frozenset(node.lineno for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.With))


SKIPPED = {str(path.resolve()): with_lines(path) for path in WATCHED}


@cache
def resolved(name: str) -> str:
    return str(Path(name).resolve())


class CtrlC:
    """Raises `KeyboardInterrupt` in this thread at the n-th line of the watched files, from the moment it is armed."""

    def __init__(self, line: int) -> None:
        self.left = line
        self.armed = False

    def trace(self, frame: FrameType, event: str, _: Any) -> Trace | None:
        skipped = SKIPPED.get(resolved(frame.f_code.co_filename))
        if skipped is None:
            return None
        if event == "line" and self.armed and frame.f_lineno not in skipped:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self.trace

    @property
    def was_pressed(self) -> bool:
        return self.left <= 0


def roll_out(settings: CurateSettings, prompts: PromptSet, engine: PaidEngine) -> None:
    """Run up to the point from where on nothing is asked of the engine, and nothing is written to the ledger."""
    with use_engine(engine, settings), locked_store(settings) as store:
        roll_out_and_score(start_run(settings, policy_for(settings), store), prompts)


def interrupt(folder: Path, prompts: PromptSet, line: int, *, first_after: int | None) -> bool:
    """Run, press Ctrl-C at that line (of the clean-up, where a first one comes `first_after` groups), go on, check."""
    settings = small_settings(folder)
    engine, ctrl_c = engine_of(settings, first_after), CtrlC(line)
    generate = engine.generate

    def armed_by_the_first(*arguments: Any) -> Any:
        ctrl_c.armed = first_after is None
        try:
            yield from generate(*arguments)
        except KeyboardInterrupt:
            ctrl_c.armed = True
            raise

    engine.generate = armed_by_the_first  # type: ignore[method-assign, assignment]
    sys.settrace(ctrl_c.trace)
    try:
        with suppress(KeyboardInterrupt, InterruptedRunError):
            roll_out(settings, prompts, engine)
    finally:
        sys.settrace(None)
    stored = rollouts(folder / "store")
    assert set(engine.paid) <= set(stored["rollout_id"] if stored.height else [])
    last = engine_of(settings)
    roll_out(settings, prompts, last)
    check_rollouts(folder / "store", ROLLOUTS)
    assert len(last.paid) == ROLLOUTS - stored.height
    assert leftovers(folder / "store") == []
    return ctrl_c.was_pressed


@pytest.mark.parametrize(("first_after", "step"), [(None, 17), (5, 3)], ids=["the first", "a second"])
def test_at_lines_all_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_after: int | None, step: int
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROLLOUTS", CHUNK)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    prompts, line = read_prompts(small_settings(tmp_path / "0001")), 1
    if profiles.get_current_profile_name() == "thorough":  # as `make test-thorough` sets it
        step = 1
    while interrupt(tmp_path / f"{line:04d}", prompts, line, first_after=first_after):
        line += step
    assert line > 50
    stored = rollouts(tmp_path / "0001" / "store")
    report = run_small(settings := small_settings(tmp_path / "0001"), rest := engine_of(settings))
    assert (rest.paid, report.totals.rollouts) == ([], ROLLOUTS)
    assert rollouts(tmp_path / "0001" / "store").equals(stored)


def test_while_the_writing_thread_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start, append = threading.Thread.start, Ledger.append_rollouts
    pressed: list[threading.Thread] = []
    writing: list[None] = []

    def press(thread: threading.Thread) -> None:
        start(thread)
        if thread.name.startswith("chunks") and not pressed:
            pressed.append(thread)
            raise KeyboardInterrupt  # while the starter waits for the thread to have started

    def append_slowly(*arguments: Any) -> None:
        writing.append(None)
        time.sleep(0.05 * len(writing))
        append(*arguments)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(threading.Thread, "start", press)
    monkeypatch.setattr(Ledger, "append_rollouts", append_slowly)
    settings = small_settings(tmp_path)
    with pytest.raises((KeyboardInterrupt, InterruptedRunError)):
        run_small(settings, engine_of(settings, stop_after=2))
    assert pressed
    check_rollouts(tmp_path / "store", 2 * GROUP_SIZE)
    run_small(settings)
    check_rollouts(tmp_path / "store", ROLLOUTS)
