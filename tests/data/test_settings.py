"""A setting that is declared at its field: which values it takes, what is said of others, and what Prefect gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, nan
from typing import Annotated, Any, Literal

import pytest
from pydantic import TypeAdapter

from learnable.data.errors import LearnableError
from learnable.data.settings import Setting, check_settings, list_settings
from learnable.flows.settings import CurateSettings


@dataclass(frozen=True)
class Oven:
    """Settings with each kind of bound."""

    heat: Annotated[float, Setting("Degrees.", above=0, below=inf, advice="200 is usual")] = 200.0
    minutes: Annotated[int | None, Setting("How long.", at_least=1, at_most=90)] = None
    share: Annotated[float, Setting("How full.", flag=None, at_least=0, below=1)] = 0.5
    mode: Annotated[Literal["grill", "fan"] | None, Setting("How.", flag="--way -w")] = None
    shelf: int = -1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"heat": 0.0}, "`heat` 0 is out of range: give more than 0, 200 is usual"),
        ({"heat": inf}, "`heat` inf is out of range: give more than 0, 200 is usual"),
        ({"heat": nan}, "`heat` nan is out of range: give more than 0, 200 is usual"),
        ({"minutes": 91}, "`minutes` 91 is out of range: give 1 or more and at most 90"),
        ({"minutes": "9"}, "`minutes` '9' is no number: give a whole number, 1 or more and at most 90"),
        ({"minutes": 1.5}, "`minutes` 1.5 is out of range: give a whole number, 1 or more and at most 90"),
        ({"minutes": True}, "`minutes` True is no number: give a whole number, 1 or more and at most 90"),
        ({"share": 1.0}, "`share` 1 is out of range: give 0 or more and less than 1"),
        ({"mode": "steam"}, "`mode` 'steam' is not known: choose one of grill, fan"),
    ],
)
def test_what_cannot_work_is_named_with_its_value_and_the_fix(given: dict[str, Any], message: str) -> None:
    with pytest.raises(LearnableError) as error:
        check_settings(Oven(**given))
    assert str(error.value) == message


@pytest.mark.parametrize(
    "given", [{}, {"heat": 1e9}, {"minutes": 1}, {"minutes": 90}, {"share": 0}, {"mode": "fan"}, {"shelf": -9}]
)
def test_the_ends_of_a_range_work_as_they_say(given: dict[str, Any]) -> None:
    check_settings(Oven(**given))


def test_settings_are_the_annotated_fields() -> None:
    listed = list_settings(Oven)
    assert list(listed) == ["heat", "minutes", "share", "mode"]
    assert [one.flags for one in listed.values()] == [("--heat",), ("--minutes",), (), ("--way", "-w")]
    assert [one.optional for one in listed.values()] == [False, True, False, True]


def test_pydantic_s_schema_has_the_help_and_the_bounds() -> None:
    properties: Mapping[str, Any] = TypeAdapter(Oven).json_schema()["properties"]
    assert properties["heat"]["description"] == "Degrees."
    assert properties["heat"]["exclusiveMinimum"] == 0
    assert "exclusiveMaximum" not in properties["heat"]
    assert (properties["minutes"]["minimum"], properties["minutes"]["maximum"]) == (1, 90)
    assert (properties["share"]["minimum"], properties["share"]["exclusiveMaximum"]) == (0, 1)


def test_prefect_shows_what_a_setting_is_for() -> None:
    from prefect.utilities.callables import parameter_schema

    def curate(settings: CurateSettings) -> None:
        """Take settings."""

    curate.__annotations__["settings"] = CurateSettings
    definitions = parameter_schema(curate).definitions
    size = definitions["CurateSettings"]["properties"]["group_size"]
    assert size["description"].startswith("Completions a prompt")
    assert size["minimum"] == 2
    assert definitions["SamplingBudget"]["properties"]["sampling"]["enum"] == ["optimal", "fixed"]
