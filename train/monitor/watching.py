"""Which rules do the metrics of a run break? Pure: it knows records and rules, and no trainer."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite, sqrt
from statistics import fmean, median, stdev

from learnable.train.monitor.records import StepRecord
from learnable.train.monitor.rules import HELD_OUT_GAP, AlarmRule, is_held_out

START_LOGS = 3  # whose median is the start: one log alone is noise
FEW_LOGS = 10  # a median of fewer is none yet


@dataclass(frozen=True, slots=True)
class Alarm:
    """A rule that a run broke: at `step` its condition had lasted, and `since` is the step of the first of those logs.

    `value` is the metric's at `step`, and `reference` what it is relative to, if anything. `metric` names the part of
    the reward where the rule is about parts.
    """

    rule: str
    metric: str
    severity: str
    since: int
    step: int
    value: float
    reference: float | None
    says: str
    helped: str

    @property
    def line(self) -> str:
        """What happened, since when, and what helped others, in a line."""
        advice = f"; {self.helped}" if self.helped else ""
        return f"step {self.step}: {self.says}{advice} (alarm {self.rule}, since step {self.since})"


@dataclass
class _Course:
    """What a rule remembers of one metric. `recent` has (step, value) of the logs that it may look back on."""

    recent: deque[tuple[int, float]]
    first: list[float] = field(default_factory=list)
    has_failed: bool = False
    rings: bool = False


class Monitor:
    """Watches the records of a run, and raises each rule's alarm once, when its condition has lasted.

    It is raised again only after the condition was absent for as many logs.
    """

    def __init__(self, rules: Iterable[AlarmRule]) -> None:
        """Begin with a run's first record."""
        self._rules = tuple(rules)
        self._courses: dict[tuple[str, str], _Course] = {}
        self._rewards: list[float] = []  # since the last look at the held-out prompts

    def observe(self, record: StepRecord) -> list[Alarm]:
        """Take in one record and return the alarms that are new."""
        if not (record.is_look or {"reward", "unscored_share"} & set(record.metrics)):
            return []  # the summary at the end, or training on stored completions, which rules are not about
        alarms = []
        for name, value in (*record.list_values(), *self._measure_gap(record)):
            for rule in self._rules:
                if rule.watches(name) and (alarm := self._judge(rule, name, record.step, value)):
                    alarms.append(alarm)
        return alarms

    def _measure_gap(self, record: StepRecord) -> Iterator[tuple[str, float]]:
        reward, held_out = record.read("reward"), record.read("eval_reward")
        if reward is not None:
            self._rewards.append(reward)
        if held_out is not None and self._rewards:
            yield HELD_OUT_GAP, fmean(self._rewards) - held_out
            self._rewards.clear()

    def _judge(self, rule: AlarmRule, name: str, step: int, value: float) -> Alarm | None:
        """Add a value to the course of its metric and return the alarm that it raises, if any."""
        course = self._courses.setdefault(
            (rule.name, name), _Course(deque(maxlen=50 + rule.lasts))
        )  # the running median's
        course.recent.append((step, value))
        # Of held-out prompts one look is the start: three come too late, and one has hundreds of completions.
        if isfinite(value) and len(course.first) < (1 if is_held_out(name) else START_LOGS):
            course.first.append(value)
        window = list(course.recent)[-rule.lasts :]
        latest = [one for _, one in window]
        earlier = [one for _, one in list(course.recent)[: -rule.lasts] if isfinite(one)]
        reference = find_reference(rule, course.first, earlier)
        if rule.averaged:
            value = fmean(latest)
        met = [rule.is_met(one, reference) for one in ([value] if rule.averaged else latest)]
        course.has_failed |= not met[-1]
        if course.rings:
            course.rings = any(met)
            return None
        if len(window) < rule.lasts or not all(met) or (rule.from_start and course.has_failed):
            return None
        if rule.relative_to == "median" and not differs(latest, earlier):
            return None
        course.rings = True
        text = rule.write(name, value, reference)
        return Alarm(rule.name, name, rule.severity, window[0][0], step, value, reference, text, rule.helped)


def find_reference(rule: AlarmRule, first: Sequence[float], earlier: Sequence[float]) -> float | None:
    """Return what a rule compares with: the start, or the median of the logs before those that it judges."""
    if rule.relative_to == "start":
        return median(first) if first else None
    return median(earlier) if rule.relative_to and len(earlier) >= FEW_LOGS else None


def differs(latest: Sequence[float], earlier: Sequence[float]) -> bool:
    """Whether the mean of logs is further from that of the ones before than chance brings it, as those scatter.

    >>> differs([0.2, 0.2], [0.4, 0.6] * 5), differs([0.2, 0.2, 0.2, 0.2], [0.4, 0.6] * 5)
    (False, True)
    """
    error = stdev(earlier) * sqrt(1 / len(latest) + 1 / len(earlier))
    # Four standard errors, for with few prompts a step chance does much.
    return not abs(fmean(latest) - fmean(earlier)) <= 4 * error


def find_alarms(rules: Iterable[AlarmRule], records: Sequence[StepRecord]) -> list[Alarm]:
    """Return all alarms of a run in their order, from its records."""
    monitor = Monitor(rules)
    return [alarm for record in records for alarm in monitor.observe(record)]
