"""Scoring a JSON Lines file of completions with any verifier: a line that cannot be scored costs itself alone.

A path of `-` is standard input.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import shutil
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any

from learnable.data.errors import LearnableError, shorten_reason
from learnable.data.records import JsonObject, Score
from learnable.data.sources.files.problems import row_ids
from learnable.verifiers.files.rows import RowReader, check_rows, read_rows
from learnable.verifiers.pool.jobs import TimeOutWarning
from learnable.verifiers.pool.scoring import ScoreJob, ScoringPool

STANDARD = Path("-")
COMMON_REASONS, MAX_REASONS = 3, 1000
CHUNK_ROWS = 512


@dataclass(frozen=True, slots=True)
class VerifySummary:
    """What a scored file holds. Means are over the rows that have a reward; None where no row has one.

    `bad_rows` are lines that are no rows, or none that the verifier could score; `first_bad` says why of the first.
    """

    rows: int
    verdicts: dict[str, int]
    mean_reward: float | None
    pass_rate: float | None
    reasons: dict[str, int]  # the most common ones of rows without a reward
    bad_rows: int = 0
    first_bad: tuple[str, ...] = ()


def verify_file(
    reader: RowReader,
    input_path: Path,
    output: Path | IO[str],
    workers: int,
    on_progress: Callable[[int, int], None],
    time_limit: float | None = None,
) -> VerifySummary:
    """Score each row of `input_path` into the same row of `output`: a file that appears when all are done, or a stream.

    A line that is bad, or has no completion, has a row there without a reward, which says why. `reader` says what a
    row is and who judges it; ids of rows are written to their scores. `on_progress` gets the rows done and the rows in
    all. `time_limit` is in seconds for each completion, instead of the verifier's own; whoever watches is told of a
    completion that reaches it. Raises `LearnableError` where no row can be scored, before anything is written.
    """
    if time_limit is not None and not 0 < time_limit < math.inf:
        raise LearnableError(f"`verifier_timeout` {time_limit:g} is no time: give seconds, more than 0")
    ids: deque[JsonObject] = deque()  # of the rows under way
    tally = _Tally()
    with _seekable(input_path) as (path, name):
        checked = check_rows(path, reader, name)
        with _published(output) as out, ScoringPool(workers, time_limit, TimeOutWarning().see) as pool:
            pool.warm_up([reader.verifier])
            jobs = (_job(reader, row, checked.bad.get(where)) for where, row in _noting_ids(read_rows(path, name), ids))
            for scores in _scored_chunks(pool, jobs):
                out.writelines(json.dumps({**ids.popleft(), **_score_row(score)}) + "\n" for score in scores)
                tally.add(scores)
                on_progress(tally.rows, checked.count)
    told = tuple(map(str, islice(checked.bad.values(), 20)))
    return replace(tally.summary(), bad_rows=len(checked.bad), first_bad=told)


def _job(reader: RowReader, row: JsonObject | LearnableError, fault: LearnableError | None) -> ScoreJob | Score:
    if fault is not None or isinstance(row, LearnableError):
        return Score.unscored(f"bad row: {fault or row}")
    return reader.make_job(row)


def _scored_chunks(pool: ScoringPool, jobs: Iterable[ScoreJob | Score]) -> Iterator[list[Score]]:
    """Yield scores chunk by chunk, in order, with a few chunks under way and no more in memory.

    What is a score already stays in its place.
    """
    jobs = iter(jobs)
    pending: deque[tuple[list[ScoreJob | Score], Future[list[Score]]]] = deque()
    while chunk := list(islice(jobs, CHUNK_ROWS)):
        pending.append((chunk, pool.submit([job for job in chunk if isinstance(job, ScoreJob)])))
        if len(pending) >= 4:
            yield _in_place(*pending.popleft())
    while pending:
        yield _in_place(*pending.popleft())


def _in_place(chunk: Sequence[ScoreJob | Score], scored: Future[list[Score]]) -> list[Score]:
    made = iter(scored.result())
    return [next(made) if isinstance(job, ScoreJob) else job for job in chunk]


def _noting_ids(
    rows: Iterable[tuple[str, JsonObject | LearnableError]], ids: deque[JsonObject]
) -> Iterator[tuple[str, JsonObject | LearnableError]]:
    for where, row in rows:
        ids.append({} if isinstance(row, LearnableError) else {key: row[key] for key in row_ids(row)})
        yield where, row


def _score_row(score: Score) -> dict[str, Any]:
    return {
        "reward": score.reward,
        "passed": score.passed,
        "verdict": score.verdict,
        "components": dict(score.components),
        "reason": score.reason,
    }


@contextmanager
def _seekable(path: Path) -> Iterator[tuple[Path, str]]:
    """Give a file that can be read twice, and its name: standard input is kept in a temporary one."""
    if path != STANDARD:
        yield path, str(path)
        return
    with tempfile.TemporaryDirectory(prefix="learnable-") as folder:
        kept = Path(folder) / "input"
        with kept.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield kept, "standard input"


@contextmanager
def _published(output: Path | IO[str]) -> Iterator[IO[str]]:
    """Open a text file that appears under its name only when the block ends well, or use a stream."""
    if isinstance(output, Path):
        with _published_file(output) as file:
            yield file
        return
    try:
        yield output
        output.flush()
    except BrokenPipeError as error:
        with open(os.devnull, "w") as nowhere:  # noqa: PTH123 (what is still buffered has nobody to go to)
            os.dup2(nowhere.fileno(), output.fileno())
        raise LearnableError("standard output was closed before all scores were written") from error


@contextmanager
def _published_file(path: Path) -> Iterator[IO[str]]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(0, "is a folder")
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".scores-") as folder:
            partial = Path(folder) / "part"
            pack = gzip.open if path.suffix == ".gz" else open
            with pack(partial, "wt", encoding="utf-8") as file:
                yield file
            partial.replace(path)
    except OSError as error:
        raise LearnableError(f"{path}: cannot be written ({error.strerror}): choose another output") from error


class _Tally:
    """Running counts, so that no score is kept."""

    def __init__(self) -> None:
        self.rows = 0
        self._verdicts: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._rewards, self._rewarded, self._passed = 0.0, 0, 0

    def add(self, scores: list[Score]) -> None:
        """Count these scores."""
        self.rows += len(scores)
        for score in scores:
            self._verdicts[score.verdict] += 1
            if score.reward is not None:
                self._rewarded += 1
                self._rewards += score.reward
                self._passed += bool(score.passed)
            else:
                self._count(shorten_reason(score.reason))

    def summary(self) -> VerifySummary:
        """Return the counts and means so far."""
        reasons = dict(self._reasons.most_common(COMMON_REASONS))
        if not self._rewarded:
            return VerifySummary(self.rows, dict(self._verdicts), None, None, reasons)
        mean, rate = self._rewards / self._rewarded, self._passed / self._rewarded
        return VerifySummary(self.rows, dict(self._verdicts), mean, rate, reasons)

    def _count(self, reason: str) -> None:
        if reason in self._reasons or len(self._reasons) < MAX_REASONS:
            self._reasons[reason] += 1
