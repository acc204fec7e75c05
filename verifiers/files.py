"""Scoring a JSON Lines file of completions with any verifier: all of it is checked before any of it is scored."""

from __future__ import annotations

import json
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from learnable.data.errors import LearnableError
from learnable.data.forms import Form
from learnable.data.records import Score
from learnable.data.sources.problems import row_ids
from learnable.verifiers.problems import Problems
from learnable.verifiers.registry import find_verifier
from learnable.verifiers.rows import NO_PROBLEMS, Row, check_rows, read_rows, row_job
from learnable.verifiers.scoring import ScoreJob, ScoringPool

CHUNK_ROWS = 512
CHUNKS_IN_FLIGHT = 4


@dataclass(frozen=True, slots=True)
class VerifySummary:
    """What a scored file holds. Means are over the rows that have a reward; None where no row has one."""

    rows: int
    verdicts: dict[str, int]
    mean_reward: float | None
    pass_rate: float | None


def verify_file(
    verifier: str,
    input_path: Path,
    output_path: Path,
    workers: int,
    on_progress: Callable[[int, int], None],
    own: Mapping[str, Form] | None = None,
    problems: Problems = NO_PROBLEMS,
) -> VerifySummary:
    """Score every row of `input_path` into the same row of `output_path`, which appears when all are done.

    A row is `{"completion", "prompt"?, "form"?, "spec"?}`; `form` stands for `{"form": ...}` in the spec. Rows without a
    spec may name one of `problems` by its id, or carry the tests of HumanEval or MBPP. Ids are written to the scores.
    Forms of `own`, a user's, are judged by their declaration. `on_progress` gets the rows done and the rows in all. Raises `LearnableError` for a row that cannot be
    scored, before anything is written.
    """
    total = check_rows(input_path, find_verifier(verifier), own, problems)
    ids: deque[Mapping[str, Any]] = deque()  # of the rows under way
    tally = _Tally()
    with _published(output_path) as out, ScoringPool(workers) as pool:
        pool.warm_up([verifier])
        jobs = (row_job(verifier, row, own, problems) for row in _noting_ids(read_rows(input_path), ids))
        for scores in _scored_chunks(pool, jobs):
            out.writelines(json.dumps({**ids.popleft(), **_score_row(score)}) + "\n" for score in scores)
            tally.add(scores)
            on_progress(tally.rows, total)
    return tally.summary()


def _scored_chunks(pool: ScoringPool, jobs: Iterable[ScoreJob]) -> Iterator[list[Score]]:
    """Yield scores chunk by chunk, in order, with a few chunks under way and no more in memory."""
    jobs = iter(jobs)
    pending: deque[Future[list[Score]]] = deque()
    while chunk := list(islice(jobs, CHUNK_ROWS)):
        pending.append(pool.submit(chunk))
        if len(pending) >= CHUNKS_IN_FLIGHT:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


def _noting_ids(rows: Iterable[tuple[str, Row]], ids: deque[Mapping[str, Any]]) -> Iterator[Row]:
    for _, row in rows:
        ids.append({key: row[key] for key in row_ids(row)})
        yield row


def _score_row(score: Score) -> dict[str, Any]:
    return {
        "reward": score.reward,
        "passed": score.passed,
        "verdict": score.verdict,
        "components": dict(score.components),
        "reason": score.reason,
    }


@contextmanager
def _published(path: Path) -> Iterator[IO[str]]:
    """Open a text file that appears under its name when the block ends well, and not at all otherwise."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(0, "is a folder")
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".scores-") as folder:
            partial = Path(folder) / "part"
            with partial.open("w", encoding="utf-8") as file:
                yield file
            partial.replace(path)
    except OSError as error:
        raise LearnableError(f"{path}: cannot be written ({error.strerror}): choose another output") from error


class _Tally:
    """Running counts, so that no score is kept."""

    def __init__(self) -> None:
        self.rows = 0
        self._verdicts: Counter[str] = Counter()
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

    def summary(self) -> VerifySummary:
        """Return the counts and means so far."""
        if not self._rewarded:
            return VerifySummary(self.rows, dict(self._verdicts), None, None)
        mean, rate = self._rewards / self._rewarded, self._passed / self._rewarded
        return VerifySummary(self.rows, dict(self._verdicts), mean, rate)
