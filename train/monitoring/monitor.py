"""What a training step tells, and when it should worry you."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import IO, Any

from learnable.data.errors import LearnableError

Record = dict[str, Any]
WINDOW = 5  # logs in a row before a worry is said: one bad step is noise
# TRL's names of what a line of metrics.jsonl holds, and ours where TRL's has a slash.
KEPT = {
    "loss": "loss",
    "reward": "reward",
    "reward_std": "reward_std",
    "frac_reward_zero_std": "frac_reward_zero_std",
    "kl": "kl",
    "entropy": "entropy",
    "grad_norm": "grad_norm",
    "learning_rate": "learning_rate",
    "completions/mean_length": "completion_length",
    "completions/clipped_ratio": "clipped_ratio",
    "step_time": "step_seconds",
    "num_tokens": "num_tokens",
    "eval_reward": "eval_reward",
}
OURS = ("within_group_std", "zero_std_share", "mean_abs_advantage", "pass_rate", "unscored_share")


def metrics_record(step: int, logs: Mapping[str, Any]) -> Record:
    """Return what is kept of one of TRL's logs: a flat record, with the parts of the reward in `components`."""
    record: Record = {"step": step}
    record |= {name: logs[key] for key, name in KEPT.items() if key in logs}
    for key, value in logs.items():
        *path, name = key.split("/")
        if path[:1] == ["rewards"] and name in OURS:
            record[name] = value
        elif path[:1] == ["component"]:
            record.setdefault("components", {})["/".join((*path[1:], name))] = value
    return record


class MetricsFile:
    """`metrics.jsonl`: one line a logged step, flushed as it goes."""

    def __init__(self, path: Path, *, from_step: int = 0) -> None:
        """Open for appending. Lines after `from_step` are dropped: a resumed run takes those steps again."""
        kept = [record for record in read_metrics(path) if record["step"] <= from_step] if path.exists() else []
        path.write_text("".join(f"{json.dumps(record)}\n" for record in kept), encoding="utf-8")
        self._file: IO[str] = path.open("a", encoding="utf-8")

    def write(self, record: Record) -> None:
        """Append one record."""
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_metrics(path: Path) -> list[Record]:
    """Read `metrics.jsonl`; a torn last line is left out."""
    records: list[Record] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return records


@dataclass
class TrainingMonitor:
    """Watches the records of a run and says each worry once, when it has lasted `WINDOW` logs.

    A worry that went away may be said again when it returns.
    """

    recent: deque[Record] = field(default_factory=lambda: deque(maxlen=WINDOW))
    first_entropy: float | None = None
    fired: set[str] = field(default_factory=set)
    said: set[str] = field(default_factory=set)

    def observe(self, record: Record) -> list[str]:
        """Take in one record and return the worries that are new.

        Raises `LearnableError` when no completion could be scored for `WINDOW` logs: training on would move
        the policy by the KL term alone.
        """
        if "reward" not in record and "unscored_share" not in record:
            return []  # the summary at the end, or an evaluation
        self.recent.append(record)
        if self.first_entropy is None:
            self.first_entropy = record.get("entropy")
        self.fired |= {name for name, value in record.get("components", {}).items() if value}
        if len(self.recent) < WINDOW:
            return []
        if self._always("unscored_share", lambda share: share == 1):
            raise LearnableError(
                f"no completion could be scored in {WINDOW} steps, so there is nothing to learn from: run "
                "`learnable verify` on a few completions to see what the verifier says"
            )
        worries = dict(self._worries())
        new = [text for name, text in worries.items() if name not in self.said]
        self.said = set(worries)
        return new

    def _worries(self) -> list[tuple[str, str]]:
        entropy, start = self._last("entropy"), self.first_entropy or 0.0
        checks = [
            ("zero_std", self._always("frac_reward_zero_std", lambda share: share > 0.5), self._zero_std_text()),
            ("zero_reward", self._always("reward", lambda reward: reward == 0), ZERO_REWARD),
            ("kl", self._always("kl", lambda kl: not isfinite(kl) or kl > 1.0), self._kl_text()),
            (
                "entropy",
                start > 0 and self._always("entropy", lambda value: value < 0.1 * start),
                f"entropy fell from {start:.2f} to {entropy:.2f}: the policy is collapsing onto one answer; raise --beta, "
                "lower --learning-rate, or stop at an earlier checkpoint",
            ),
            ("clipped", self._always("clipped_ratio", lambda share: share > 0.5), CLIPPED),
            ("unscored", self._always("unscored_share", lambda share: share > 0.2), UNSCORED),
        ]
        return [(name, text) for name, holds, text in checks if holds] + self._silent_components()

    def _silent_components(self) -> list[tuple[str, str]]:
        names = {name for record in self.recent for name in record.get("components", {})}
        return [
            (
                f"component {name}",
                f"{name} has been 0 in every completion so far: it rewards nothing and teaches nothing",
            )
            for name in sorted(names - self.fired)
        ]

    def _always(self, name: str, holds: Callable[[float], bool]) -> bool:
        values = [record.get(name) for record in self.recent]
        return all(value is not None and holds(value) for value in values)

    def _last(self, name: str) -> float:
        value = self.recent[-1].get(name)
        return float("nan") if value is None else float(value)

    def _zero_std_text(self) -> str:
        return (
            f"{self._last('frac_reward_zero_std'):.0%} of groups have no spread and teach nothing: the policy has "
            "moved past this set, or it was curated for another one; curate again on the latest checkpoint"
        )

    def _kl_text(self) -> str:
        return f"KL is {self._last('kl'):.2f}: the policy is far from where it started; lower --learning-rate or raise --beta"


ZERO_REWARD = (
    f"every reward of the last {WINDOW} logs is 0: the verifier never fires on what this policy writes; look at some "
    "completions, at --max-completion-length and at the prompts' format"
)
CLIPPED = "more than half of the completions run into --max-completion-length: raise it, or they are judged cut short"
UNSCORED = "more than a fifth of the completions could not be scored; they teach nothing: see the log for the reason"
