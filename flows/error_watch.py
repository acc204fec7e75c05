"""A spike of errors stops a run, instead of passing an outage off as prompts that are too hard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from learnable.data.errors import LearnableError
from learnable.data.records import Score

CHUNK_SCORES = 200
MOST_ERRORS = 0.02
REASONS_SHOWN = 3
REASON_LENGTH = 120


class ErrorWatch:
    """Counts scores without a reward, chunk by chunk of at least `CHUNK_SCORES`."""

    def __init__(self) -> None:
        self._scores = 0
        self._reasons: Counter[str] = Counter()

    def add(self, scores: Iterable[Score]) -> None:
        """Count scores. Raises `LearnableError` when more than `MOST_ERRORS` of a chunk are errors."""
        for score in scores:
            self._scores += 1
            if score.reward is None:
                self._reasons[f"{score.verdict}: {score.reason}"[:REASON_LENGTH]] += 1
        if self._scores >= CHUNK_SCORES:
            self._judge()
            self._scores = 0
            self._reasons.clear()

    def _judge(self) -> None:
        errors = self._reasons.total()
        if errors <= MOST_ERRORS * self._scores:
            return
        reasons = "; ".join(f"{count} x {reason}" for reason, count in self._reasons.most_common(REASONS_SHOWN))
        raise LearnableError(
            f"{errors} of {self._scores} scores in a row are errors ({errors / self._scores:.1%}, over {MOST_ERRORS:.0%}): "
            f"{reasons}. The run stops, since errors are no zeros. The rollouts are in the store: mend the verifier or the "
            "engine, then the same command goes on from there"
        )
