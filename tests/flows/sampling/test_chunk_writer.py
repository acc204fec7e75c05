"""Chunks reach the ledger whole, rollouts before their scores, whatever interrupts."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from learnable.data.errors import LearnableError
from learnable.data.ledger.ledger import Draw, ScoreRow
from learnable.data.records import Prompt, Rollout, Sampling, Score
from learnable.flows.sampling import chunk_writer as chunks
from learnable.flows.sampling.chunk_writer import CHUNK_ROLLOUTS, ChunkWriter

DRAW = Draw("policy", Sampling())


def group(number: int, size: int = 16) -> list[Rollout]:
    return [Rollout(f"p{number}", "policy", "s", 64, index, "x", "stop", 1) for index in range(size)]


def scores_of(rollouts: Sequence[Rollout]) -> list[ScoreRow]:
    prompt = Prompt("p", "v", {}, family="f", form="F")
    return [(one, prompt, Score(1.0, True)) for one in rollouts]


class Ledger:
    """Remembers what was appended, in order; `gate` holds writes back, `error` refuses them."""

    def __init__(self) -> None:
        self.events: list[tuple[str, int]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.error: Exception | None = None
        self.news = threading.Condition()

    def append_rollouts(self, draw: Draw, rollouts: Sequence[Rollout]) -> None:
        self.gate.wait(30)
        if error := self.error:
            self.note("failures", 1)
            raise error
        self.note("rollouts", len(rollouts))

    def append_scores(self, draw: Draw, versions: object, scores: Sequence[object]) -> None:
        self.note("scores", len(scores))

    def note(self, kind: str, count: int) -> None:
        with self.news:
            self.events.append((kind, count))
            self.news.notify_all()

    def wait_for(self, kind: str, count: int) -> bool:
        with self.news:
            return self.news.wait_for(lambda: self.total(kind) >= count, timeout=30)

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


def test_what_has_come_is_written_while_the_engine_is_silent(
    ledger: Ledger, writer: ChunkWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_SECONDS", 0.0)
    for number in range(2):  # after the first chunk too
        rollouts = group(number)
        writer.add(rollouts)
        writer.add_scores(scores_of(rollouts))
        assert ledger.wait_for("scores", 16 * (number + 1))  # no other call
    assert ledger.total("rollouts") == writer.saved == 32
    writer.close()


def test_a_write_that_fails_while_the_engine_is_silent_is_raised_at_the_next_call(
    ledger: Ledger, writer: ChunkWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_SECONDS", 0.0)
    ledger.error = LearnableError("full; the rows are kept")
    writer.add(group(0))
    assert ledger.wait_for("failures", 1)
    with writer._lock:  # so the write is over
        ledger.error = None
    with pytest.raises(LearnableError, match="the rows are kept"):
        writer.add(group(1))
    writer.close()
    assert ledger.total("rollouts") == writer.saved == 16  # the later group is none the worse


@pytest.mark.parametrize("error", [UnicodeEncodeError("utf-8", "x", 0, 1, "no"), LearnableError("kept outside")])
def test_no_score_is_written_whose_rollout_is_not(ledger: Ledger, writer: ChunkWriter, error: Exception) -> None:
    lost, kept = group(0), group(1)
    ledger.error = error
    writer.add(lost)
    with pytest.raises(type(error)):
        writer.flush()
    ledger.error = None
    writer.add_scores(scores_of(lost))
    writer.add(kept)
    writer.add_scores(scores_of(kept))
    writer.close()
    assert (ledger.total("rollouts"), ledger.total("scores")) == (16, 16)


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
    writer.add_scores(scores_of(rollouts) * CHUNK_ROLLOUTS)
    assert ledger.events == []
    writer.close()


def test_no_score_comes_before_its_rollout(ledger: Ledger, writer: ChunkWriter) -> None:
    rollouts = group(0)
    writer.add(rollouts)
    writer.add_scores(scores_of(rollouts))
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
