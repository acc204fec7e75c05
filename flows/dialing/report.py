"""What a search for the right difficulty came to, for the console and `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from learnable.data.curated.record import to_plain
from learnable.data.records import JsonObject
from learnable.filters.arrays import Values
from learnable.filters.dial.aim import Aim
from learnable.filters.dial.search import DialSearch, Look
from learnable.flows.curation.report import CurationReport
from learnable.flows.run import Run
from learnable.flows.settings.dial import DialSettings

SearchEnd = Literal["reached", "unreachable", "budget", "dry"]
"""How a search ended: at a setting within the tolerance; with hardly a chance that there is one; with the budget spent;
or with every prompt of every setting looked at."""


@dataclass(frozen=True, slots=True)
class KnobSetting:
    """One setting of the knobs: what was sampled there, and what is known of its pass rate.

    `share` is the share of its rollouts that passed and `within_variance` the variance inside a prompt's group, of .25
    at most; both are None where no `prompts` were sampled. `pass_rate`, and its 90 % interval from `low` to `high`, are
    by the curve through all settings.
    """

    knobs: Mapping[str, str]
    prompts: int
    share: float | None
    pass_rate: float
    low: float
    high: float
    within_variance: float | None

    @property
    def named(self) -> str:
        """The knobs as users type them."""
        return ", ".join(f"{name}={value}" for name, value in self.knobs.items())


@dataclass(frozen=True, slots=True)
class DialReport:
    """How the search ended, the setting that is nearest to the target, and every setting of the grid.

    `forms` and `families` are those that were dialled; both are empty where prompts are not the library's own.
    `rollouts` were looked at, `generated` of them are new. `advice` says what to do where the target was not reached.
    `curation` is the report of the set that was made there, None where none was.
    """

    policy: str
    engine: str
    store: str
    aim: Aim
    outcome: SearchEnd
    nearest: KnobSetting
    settings: tuple[KnobSetting, ...]
    forms: tuple[str, ...]
    families: tuple[str, ...]
    advice: str = ""
    rollouts: int = 0
    generated: int = 0
    curation: CurationReport | None = None

    @property
    def is_reached(self) -> bool:
        """Whether the nearest setting is within the tolerance."""
        return self.outcome == "reached"

    def to_json(self) -> JsonObject:
        """Return the report as `--json` prints it."""
        plain: JsonObject = to_plain({name: getattr(self, name) for name in ("policy", "engine", "store", "outcome")})
        return {
            **plain,
            **asdict(self.aim),
            "reached": self.is_reached,
            "nearest": _rounded(self.nearest),
            "settings": [_rounded(setting) for setting in self.settings],
            "forms": list(self.forms),
            "families": list(self.families),
            "rollouts": self.rollouts,
            "generated": self.generated,
            **({"advice": self.advice} if self.advice else {}),
            **({} if self.curation is None else {"curation": self.curation.to_json()}),
        }


def build_report(run: Run, settings: DialSettings, search: DialSearch, look: Look, outcome: SearchEnd) -> DialReport:
    """Return the report of a search that has ended, what it cost aside."""
    described = _describe_settings(settings, search, look)
    return DialReport(
        policy=run.policy.policy_id,
        engine=settings.curation.engine.name,
        store=settings.curation.store,
        aim=settings.aim,
        outcome=outcome,
        nearest=described[look.nearest if look.found is None else look.found],
        settings=described,
        forms=settings.curation.prompts.forms,
        families=settings.curation.prompts.families,
        advice=_advise(settings, look, outcome),
    )


def describe_outcome(report: DialReport) -> str:
    """Say in a sentence or two how the search ended."""
    near, aim = report.nearest, report.aim
    passes = f"{near.named} passes {near.pass_rate:.2f} [{near.low:.2f}, {near.high:.2f}] of the time"
    wanted = f"{aim.target:g} ± {aim.tolerance:g}"
    if report.is_reached:
        return f"Within {wanted}: {passes}."
    why = {
        "unreachable": f"No setting is within {wanted}",
        "budget": f"The budget is spent, and no setting is surely within {wanted}",
        "dry": f"Every prompt was looked at, and no setting is surely within {wanted}",
    }[report.outcome]
    return f"{why}. The nearest: {passes}."


def _advise(settings: DialSettings, look: Look, outcome: SearchEnd) -> str:
    """Say what to do where the target was not reached: widen the grid where it ends, fill it in where it jumps."""
    if outcome == "reached":
        return ""
    if outcome in ("budget", "dry"):
        more = "a larger `budget`" if outcome == "budget" else "other knobs, with which there are more prompts"
        return f"give {more}, or a wider `tolerance`; the same rollouts count again"
    target, turned = settings.aim.target, " or ".join(settings.grid.turned)
    if (look.mean > target).all() or (look.mean < target).all():
        side = "easier" if look.mean[look.nearest] > target else "harder"
        other = "harder" if side == "easier" else "easier"
        return (
            f"every setting is {side} than that: give {turned} {other} values, turn another knob, or name other forms"
        )
    return (
        f"pass rates jump over it: give {turned} values in between, turn another knob as well, or name one form alone"
    )


def _numbers(values: Values) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def _rounded(setting: KnobSetting) -> JsonObject:
    plain = asdict(setting)
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in plain.items()}


def _describe_settings(settings: DialSettings, search: DialSearch, look: Look) -> tuple[KnobSetting, ...]:
    shares, within = (_numbers(values) for values in (search.shares, search.within_variances))
    return tuple(
        KnobSetting(
            knobs,
            int(search.prompts[place]),
            shares[place],
            float(look.mean[place]),
            float(look.low[place]),
            float(look.high[place]),
            within[place],
        )
        for place, knobs in enumerate(settings.grid.cells())
    )
