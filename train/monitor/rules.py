"""The rules of the monitor: on what a run's metrics must come to, and for how long, before it raises an alarm.

Those that are shipped are in `rules.toml`, which says what each key means; a file of one's own adds to them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from math import isfinite
from pathlib import Path
from string import Formatter
from typing import Any

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.train.monitor.records import COMPONENTS, METRICS, REVIEW_METRICS, REWARD_METRICS

HELD_OUT_GAP = "held_out_gap"  # mean reward since the last look at the held-out prompts, minus theirs
# The processes of a run stop together, so what each measures for itself must decide nothing.
WATCHED = ({*METRICS.values(), *REVIEW_METRICS.values(), *REWARD_METRICS} - {"step_seconds"}) | {HELD_OUT_GAP}
CONDITIONS = ("above", "below", "equals", "rises_by", "falls_by")
RELATIVE_TO = ("start", "median")
SEVERITIES = ("warn", "stop", "error")
TEXT_KEYS = ("metric", "relative_to", "severity", "says", "why", "helped")
SWITCHES = ("from_start", "averaged", "off")
KEYS = (*TEXT_KEYS, *SWITCHES, "lasts", *CONDITIONS)
NEEDED = ("metric", "lasts", "says")


def is_held_out(name: str) -> bool:
    """Whether the metric of that name is measured at looks at the held-out prompts."""
    return name == HELD_OUT_GAP or name.startswith(("eval_", "review_"))


@dataclass(frozen=True, slots=True)
class AlarmRule:
    """A condition on one metric, and what is said when it has lasted.

    Args:
        name: by which a file of one's own changes it.
        metric: a name of `WATCHED`, or `components/<verifier>/<part>`; `components/*` is each part for itself.
        condition: one of `CONDITIONS`.
        limit: what the condition compares with: a value, or with `relative_to` a multiple (`above`, `below`) or a
            difference (`rises_by`, `falls_by`).
        lasts: logs in a row; of the metrics of held-out prompts, looks at them.
        says: what is said; may have `{name}`, `{value}`, `{reference}` and `{limit}`.
        relative_to: `start`, `median` or "", which compares with the limit itself.
        from_start: only where the condition has held at every log of the run.
        averaged: whether the mean of the logs in a row is judged, and not each of them.
        severity: `stop` ends the run under `--on-alarm stop`; `error` ends it in any case.
        why: why the limit is that.
        helped: what helped others.
    """

    name: str
    metric: str
    condition: str
    limit: float
    lasts: int
    says: str
    relative_to: str = ""
    from_start: bool = False
    averaged: bool = False
    severity: str = "warn"
    why: str = ""
    helped: str = ""

    def watches(self, name: str) -> bool:
        """Whether the rule is about the metric of that name, as `StepRecord.list_values` names it."""
        return name == self.metric or (self.metric == f"{COMPONENTS}*" and name.startswith(COMPONENTS))

    def is_met(self, value: float, reference: float | None) -> bool:
        """Whether a value meets the condition. A value that is no finite number is above and has risen.

        `reference` is what it is relative to; None where that is not known yet, which meets no condition.
        """
        if self.relative_to and (reference is None or (self.condition in ("above", "below") and reference <= 0)):
            return False
        base = reference or 0.0
        match self.condition:
            case "above":
                return not value <= (self.limit * base if self.relative_to else self.limit)
            case "below":
                return value < (self.limit * base if self.relative_to else self.limit)
            case "rises_by":
                return not value - base <= self.limit
            case "falls_by":
                return base - value > self.limit
        return value == self.limit

    def write(self, name: str, value: float, reference: float | None) -> str:
        """Return what the rule says of a value of the metric `name`."""
        short = name.removeprefix(COMPONENTS)
        known = float("nan") if reference is None else reference
        return self.says.format(name=short, value=value, reference=known, limit=self.limit)


def read_rules(file: str = "") -> tuple[AlarmRule, ...]:
    """Return the shipped rules, changed and added to by the TOML file of that path where one is given.

    A table of a shipped rule's name changes the keys that it has; `off = true` takes the rule out; any other name is a
    new rule. Raises `LearnableError` for a file that cannot be read and for a value that cannot work, and
    `UnknownNameError` for an unknown key or metric, each naming the file, the rule and the fix.
    """
    tables = _read_tables(resources.files("learnable.train.monitor").joinpath("rules.toml"), "rules.toml")
    where = dict.fromkeys(tables, "rules.toml")
    for name, table in (_read_tables(Path(file), file) if file else {}).items():
        tables[name] = _merge(tables.get(name, {}), table)
        where[name] = file
    return tuple(_make(name, table, where[name]) for name, table in tables.items() if not table.get("off"))


def _read_tables(file: Traversable, where: str) -> dict[str, Mapping[str, Any]]:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise LearnableError(f"`monitor` {where!r} cannot be read: {error.strerror}; give a TOML file") from error
    except ValueError as error:
        raise LearnableError(f"`monitor` {where!r} is no TOML: {error}") from error
    rules = table.pop("rules", {})
    if table or not isinstance(rules, dict):
        raise LearnableError(f"{where}: {next(iter(table), 'rules')!r} is no rule: write tables [rules.NAME]")
    for name, rule in rules.items():
        _check_table(rule, f"{where}: rule {name}")
    return rules


def _check_table(rule: object, where: str) -> None:
    """Raise where a rule has a key that is not known, or a value of another kind than that key's."""
    if not isinstance(rule, dict):
        raise LearnableError(f"{where} = {rule!r} cannot work: write a table [rules.NAME]")
    for key, value in rule.items():
        if key not in KEYS:
            raise UnknownNameError(f"key of {where}", key, KEYS)
        if key in TEXT_KEYS:
            fits, kind = isinstance(value, str), "a text"
        elif key in SWITCHES:
            fits, kind = isinstance(value, bool), "true or false"
        else:
            fits, kind = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value), "a number"
        if not fits:
            raise LearnableError(f"{where}: {key} = {value!r} cannot work: give {kind}")


def _merge(shipped: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rule as changed; a condition takes the place of another."""
    dropped = CONDITIONS if set(CONDITIONS) & set(given) else ()
    return {key: value for key, value in shipped.items() if key not in dropped} | dict(given)


def _make(name: str, table: Mapping[str, Any], file: str) -> AlarmRule:
    where = f"{file}: rule {name}"
    if missing := [key for key in NEEDED if key not in table]:
        raise LearnableError(f"{where}: {missing[0]} is missing: a new rule needs {', '.join(NEEDED)} and a condition")
    conditions = [key for key in CONDITIONS if key in table]
    if len(conditions) != 1:
        named = " and ".join(conditions) or "no condition"
        raise LearnableError(f"{where}: {named} cannot work: give one of {', '.join(CONDITIONS)}")
    _check_values(table, conditions[0], where)
    plain = {key: value for key, value in table.items() if key not in (*CONDITIONS, "off")}
    rule = AlarmRule(name=name, condition=conditions[0], limit=float(table[conditions[0]]), **plain)
    try:
        _check_braces(rule.says)
        rule.write("name", 0.0, 0.0)
    except (LookupError, ValueError, AttributeError) as error:
        raise LearnableError(
            f"{where}: says = {rule.says!r} cannot be filled in: only {{name}}, {{value}}, {{reference}} and {{limit}} "
            "are known, with formats of Python as {value:.2f}"
        ) from error
    return rule


def _check_braces(says: str) -> None:
    """Raise `ValueError` for braces that reach into a value, as `{name.a}`, or that fill much, as `{name:99999}`."""
    for _, name, shape, _ in Formatter().parse(says):
        is_known = name in ("name", "value", "reference", "limit")
        if name is not None and (not is_known or "{" in (shape or "") or re.search(r"\d{3}", shape or "")):
            raise ValueError(f"{{{name}:{shape}}}")


def _check_values(table: Mapping[str, Any], condition: str, where: str) -> None:
    """Raise where a value is none of those that its key may have, or does not go with another key's."""
    metric, relative_to = table["metric"], table.get("relative_to", "")
    if metric not in WATCHED and not metric.startswith(COMPONENTS):
        raise UnknownNameError(f"metric of {where}", metric, {*WATCHED, f"{COMPONENTS}*"})
    for key, known in (("relative_to", ("", *RELATIVE_TO)), ("severity", SEVERITIES)):
        if table.get(key, known[0]) not in known:
            raise UnknownNameError(f"{key} of {where}", table[key], [value for value in known if value])
    if not isinstance(table["lasts"], int) or table["lasts"] < 1:
        raise LearnableError(f"{where}: lasts = {table['lasts']!r} cannot work: give a whole number of logs, 1 or more")
    if condition in ("rises_by", "falls_by") and not relative_to:
        raise LearnableError(f"{where}: {condition} needs relative_to: give {' or '.join(RELATIVE_TO)}")
    if relative_to and condition == "equals":
        raise LearnableError(f"{where}: equals compares with no {relative_to}: leave relative_to out")
    if relative_to and table.get("from_start"):
        raise LearnableError(f"{where}: from_start cannot be relative to the {relative_to}: leave one of them out")
