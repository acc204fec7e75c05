"""What a loop came to so far, as `loop.json` keeps it and `--json` prints it, and whether it goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import nan
from pathlib import Path, PurePath
from typing import Any

from learnable.data.errors import LearnableError
from learnable.data.plain_text import quote_markdown
from learnable.data.records import JsonObject
from learnable.data.storage.places import write_whole
from learnable.flows.settings.loop import LoopSettings
from learnable.train.preflight.output import MAY_CHANGE
from learnable.train.results.figures import Figures, write_verdict
from learnable.train.results.report import without_nan
from learnable.train.results.statistics import Interval

LOOP = "loop.json"
FIGURE = "loop.png"
# What no interrupted training may change stays as it is for all rounds, and so does what makes them comparable.
COMPARED = {"steps", "eval_group_size", "eval_k", "eval_limit", "held_out"}
MAY_DIFFER = MAY_CHANGE - COMPARED


@dataclass(frozen=True, slots=True)
class LoopRound:
    """One round: the version that it trains on and the policy that it trains, then what came of it, stage by stage.

    `kept` counts the prompts to train on, and `usable_share` is the forecast share of their groups whose rewards
    differ, None where there is none. `refresh_rollouts` are those that the refresh which made the version rests on.
    `held_out` measures the trained policy on the held-out prompts of the first round's version, `gain` what that is
    more than of the round before, prompt by prompt.
    """

    number: int
    curated: str
    parent: str
    kept: int
    usable_share: float | None
    refresh_rollouts: int
    policy: str
    trained_policy: str | None = None
    steps: int | None = None
    held_out: Figures | None = None
    gain: Figures | None = None

    @property
    def version(self) -> str:
        """The name of the version that is trained on."""
        return PurePath(self.curated).name


@dataclass(frozen=True, slots=True)
class LoopReport:
    """A loop that goes on or has ended: `start` measures the policy of its first round before that."""

    folder: str
    settings: LoopSettings
    rounds: tuple[LoopRound, ...]
    start: Figures | None = None

    @property
    def end(self) -> str:
        """Why the loop ended, as a sentence; empty where it goes on."""
        last = self.rounds[-1]
        if last.trained_policy is None:
            return self._find_lack(last)
        if last.gain is None:
            return ""
        verdict = write_verdict(last.gain)
        if last.gain.mean_reward.is_below_zero:
            return f"stopped after round {last.number}, which made the policy worse: {verdict}"
        if not last.gain.mean_reward.is_above_zero:
            return f"stopped after round {last.number}, whose gain is inside its noise: {verdict}"
        if last.number >= self.settings.rounds:
            return f"all rounds are done, and round {last.number} still gained: {verdict}"
        return ""

    def _find_lack(self, last: LoopRound) -> str:
        needed = self.settings.train.fewest_prompts
        if last.number == 1 or last.kept >= needed:
            return ""
        return (
            f"stopped before round {last.number}: the refresh keeps {last.kept} prompts to train on, and a step takes "
            f"{needed}: curate more prompts for the trained policy with find-learnable, or widen `band`"
        )

    @property
    def measured(self) -> tuple[tuple[int, str, Figures], ...]:
        """Each policy that was measured, with the number of its round; that before training has the number 0."""
        trained = [(row.number, row.trained_policy or "", row.held_out) for row in self.rounds]
        everyone = [(0, self.rounds[0].policy, self.start), *trained]
        return tuple((number, policy, figures) for number, policy, figures in everyone if figures is not None)

    @property
    def best(self) -> tuple[int, str]:
        """The round with the highest held-out reward, and its policy; 0 for that before training."""
        number, policy, _ = max(self.measured, key=lambda row: row[2].mean_reward.value)
        return number, policy

    def to_json(self) -> JsonObject:
        """Return the report as plain data; what could not be estimated is null."""
        settings = {**asdict(self.settings), "train": self.settings.train.as_json()}
        plain: JsonObject = without_nan(asdict(self) | {"settings": settings})
        best = dict(zip(("round", "policy"), self.best, strict=True)) if self.measured else None
        return {**plain, "end": self.end, "best": best, "figure": str(Path(self.folder) / FIGURE)}

    def write(self) -> None:
        """Write `loop.json`, whole or not at all. Raises `LearnableError` where it cannot be written."""
        text = json.dumps(self.to_json(), indent=2) + "\n"
        write_whole(Path(self.folder) / LOOP, lambda file: file.write_text(text, encoding="utf-8"))


def read_loop(folder: Path, settings: LoopSettings) -> LoopReport:
    """Return the loop in a folder, to go on with these settings.

    Raises `LearnableError` for a file that `write` did not write, and for settings that would make it another loop.
    """
    file = folder / LOOP
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        before, now = list_fixed(values["settings"]), list_fixed(_to_plain(settings))
        rounds = tuple(LoopRound(**_with_figures(row)) for row in values["rounds"])
        start = _with_figures(values)["start"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LearnableError(
            f"{str(file)!r} is not what a loop wrote ({error}): give another `output` to start anew"
        ) from error
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            raise LearnableError(
                f"`{name}` {now.get(name)} is not what the loop in {str(folder)!r} was started with "
                f"({before.get(name)}): give that, or start a new one in another `output`"
            )
    return LoopReport(str(folder), settings, rounds, start)


def list_fixed(settings: JsonObject) -> JsonObject:
    """Return those of a loop's plain settings that stay as they are for all of its rounds."""
    plain = {**settings["train"], "anchors": settings["anchors"]}
    return {name: value for name, value in plain.items() if name not in MAY_DIFFER}


def render_rounds(report: LoopReport) -> str:
    """Return a loop's report as Markdown."""
    lines = [
        f"{report.end}. Best policy: {quote_markdown(report.best[1])}, of round {report.best[0]}.",
        "",
        "| round | set | prompts kept | refresh rollouts | steps | held-out reward |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in report.rounds:
        reward = f"{row.held_out.mean_reward.value:.3f}" if row.held_out else "-"
        counts = (row.number, row.version, row.kept, row.refresh_rollouts, row.steps or "-", reward)
        lines.append(f"| {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


def _to_plain(settings: LoopSettings) -> Any:
    return json.loads(json.dumps({"train": settings.train.as_json(), "anchors": settings.anchors}))


def _with_figures(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of JSON with the figures in them as they were."""
    figures = {name: values[name] for name in ("start", "held_out", "gain") if values.get(name) is not None}
    return {**values, **{name: _read_figures(value) for name, value in figures.items()}}


def _read_figures(values: Mapping[str, Any]) -> Figures:
    measures = {field.name for field in fields(Figures)} - {"by", "name", "prompts", "unscored", "pass_at"}
    ends = {name: _read_interval(values[name]) for name in measures}
    pass_at = {int(k): _read_interval(interval) for k, interval in values.get("pass_at", {}).items()}
    return Figures(**{**values, **ends, "pass_at": pass_at})


def _read_interval(ends: Mapping[str, float | None]) -> Interval:
    return Interval(**{end: nan if value is None else value for end, value in ends.items()})
