"""Chunks reach the ledger whole, rollouts before their scores, whatever interrupts."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from learnable.data.errors import LearnableError
from learnable.data.ledger.ledger import Draw
from learnable.data.records import Rollout, Sampling, Score
from learnable.flows.sampling import chunk_writer as chunks
from learnable.flows.sampling.chunk_writer import CHUNK_ROLLOUTS, ChunkWriter

DRAW = Draw("policy", Sampling())


def group(number: int, size: int = 16) -> list[Rollout]:
    return [Rollout(f"p{number}", "policy", "s", 64, index, "x", "stop", 1) for index in range(size)]


class Ledger:
    """Remembers what was appended, in order; `gate` holds writes back, `error` refuses them."""

    def __init__(self) -> None:
        self.events: list[tuple[str, int]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.error: Exception | None = None

    def append_rollouts(self, draw: Draw, rollouts: Sequence[Rollout]) -> None:
        self.gate.wait(30)
        if self.error:
            raise self.error
        self.events.append(("rollouts", len(rollouts)))

    def append_scores(self, draw: Draw, versions: object, scores: Sequence[object]) -> None:
        self.events.append(("scores", len(scores)))

    def total(self, kind: str) -> int:
        return sum(count for name, count in self.events if name == kind)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def writer(ledger: Ledger) -> ChunkWriter:
    return ChunkWriter(ledger, DRAW, {"v": "1"})  # type: ignore[arg-type]


def test_a_chunk_is_written_when_it_is_full(ledger: Ledger, writer: ChunkWriter) -> None:
    for number in range(CHUNK_ROLLOUTS // 16 - 1):
        writer.add(group(number))
    assert ledger.events == []
    writer.add(group(99))
    writer._wait()
    assert ledger.total("rollouts") == CHUNK_ROLLOUTS
    writer.close()


def test_a_slow_engine_does_not_keep_a_chunk_waiting(
    ledger: Ledger, writer: ChunkWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_SECONDS", 0.0)
    writer._due = 0.0
    writer.add(group(0))
    writer._wait()
    assert ledger.total("rollouts") == 16
    writer.close()


def test_the_engine_does_not_wait_for_the_disk(ledger: Ledger, writer: ChunkWriter) -> None:
    chunk = CHUNK_ROLLOUTS // 16
    ledger.gate.clear()
    for number in range(3 * chunk):  # would hang if the second chunk waited for the first
        writer.add(group(number))
    ledger.gate.set()
    writer.close()
    written = [count for name, count in ledger.events if name == "rollouts" and count]
    assert sum(written) == 3 * CHUNK_ROLLOUTS
    assert written[0] == CHUNK_ROLLOUTS
    assert len(written) == 2


def test_scores_do_not_cut_chunks(ledger: Ledger, writer: ChunkWriter) -> None:
    rollouts = group(0)
    writer.add(rollouts)
    writer.add_scores([(one, "v", Score(1.0, True)) for one in rollouts] * CHUNK_ROLLOUTS)
    assert ledger.events == []
    writer.close()


def test_no_score_comes_before_its_rollout(ledger: Ledger, writer: ChunkWriter) -> None:
    rollouts = group(0)
    writer.add(rollouts)
    writer.add_scores([(one, "v", Score(1.0, True)) for one in rollouts])
    writer.flush()
    assert [name for name, _ in ledger.events] == ["rollouts", "scores"]
    writer.close()


def test_an_interrupt_while_a_chunk_is_on_its_way_neither_loses_nor_repeats_it(
    ledger: Ledger, writer: ChunkWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    ledger.gate.clear()
    writer.add(group(0))
    with monkeypatch.context() as patch:
        patch.setattr(chunks, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            writer.flush()
    writer.add(group(1))
    ledger.gate.set()
    writer.close()
    assert ledger.total("rollouts") == writer.saved == 32


def test_a_failed_write_is_raised_and_not_tried_twice(ledger: Ledger, writer: ChunkWriter) -> None:
    ledger.error = LearnableError("full; the rows are kept")
    writer.add(group(0))
    with pytest.raises(LearnableError, match="the rows are kept"):
        writer.flush()
    ledger.error = None
    writer.add(group(1))
    writer.close()
    assert ledger.total("rollouts") == writer.saved == 16
