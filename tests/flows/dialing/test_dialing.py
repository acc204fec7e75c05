"""A search through the steps of a curation: what it finds, what it stores, and what it does when stopped."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.policies import find_policy
from learnable.data.records import Prompt, Sampling
from learnable.filters.dial.aim import Aim
from learnable.flows.dialing.pipeline import run_dial
from learnable.flows.dialing.report import DialReport, describe_outcome
from learnable.flows.dialing.rounds import settings_at
from learnable.flows.engines import use_engine
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.flows.settings.dial import DialSettings
from learnable.rollouts.protocol import Answer, GroupRequest
from learnable.verifiers.families.knob_grid import KnobGrid, read_axis
from tests.flows.rated_for_tests import make_policy


class AddingEngine:
    """Adds right with a chance that falls with the larger number: by half of it up to 100."""

    max_context = 512

    def __init__(self, policy: str, dies_after: int | None = None) -> None:
        self.policy_id = find_policy(policy).policy_id
        self.dies_after = dies_after
        self.rollouts = 0

    def count_tokens(self, prompts: Sequence[Prompt]) -> list[int]:
        return [1] * len(prompts)

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        for request in requests:
            if self.dies_after is not None and self.rollouts >= self.dies_after:
                raise KeyboardInterrupt
            self.rollouts += request.group_size
            numbers = [int(number) for number in re.findall(r"\d+", request.prompt.text)]
            answer = request.prompt.spec["answer"]
            yield [
                request.rollout(
                    child,
                    str(answer if self._luck(request, child) > max(numbers) / 100 else answer + 1),
                    "stop",
                    1,
                    policy_id=self.policy_id,
                    sampling=sampling,
                )
                for child in range(request.group_size)
            ]

    def _luck(self, request: GroupRequest, child: int) -> float:
        return random.Random(f"{request.prompt.question_id}:{request.first_index + child}").random()

    def close(self) -> None:
        pass


@pytest.fixture
def settings(tmp_path: Path) -> DialSettings:
    curation = CurateSettings(
        prompts=PromptSettings(families=("arithmetic",), limit=60),
        policy=make_policy(tmp_path, "policy"),
        store=str(tmp_path / "store"),
        name="dialled",
        workers=0,
    )
    return DialSettings(curation, KnobGrid((read_axis("largest", "10,30,60,75,90,120"),)), budget=4096)


def dial(settings: DialSettings, dies_after: int | None = None) -> tuple[DialReport, int]:
    engine = AddingEngine(str(settings.curation.policy), dies_after)
    with use_engine(engine, settings.curation):
        return run_dial(settings), engine.rollouts


def test_it_finds_the_knob_and_curates_there(settings: DialSettings) -> None:
    """The larger of two numbers up to n is 2 n / 3 on average, so half pass at n = 75."""
    report, _ = dial(settings)
    assert report.is_reached
    assert report.nearest.knobs == {"largest": "75"}
    assert abs(report.nearest.pass_rate - 0.5) < 0.07
    assert 0.4 <= report.nearest.low < report.nearest.high <= 0.6
    assert report.forms == ("Addition", "Subtraction", "Multiplication")
    assert describe_outcome(report).startswith("Within 0.5 ± 0.1: largest=75 passes 0.")
    assert report.curation is not None
    curated = open_curated(report.curation.curated)
    assert curated.manifest.knobs == {"largest": "75"}
    assert curated.path.parent.name == "dialled"
    assert report.curation.totals.prompts == 60
    assert report.curation.totals.generated < report.curation.totals.rollouts  # the search had some of them


def test_the_same_search_again_costs_nothing(settings: DialSettings) -> None:
    first, paid = dial(replace(settings, curate=False))
    second, nothing = dial(replace(settings, curate=False))
    assert paid == first.generated > 0
    assert (nothing, second.generated) == (0, 0)
    assert second == replace(first, generated=0)


def test_ctrl_c_loses_nothing_and_the_same_command_goes_on(settings: DialSettings) -> None:
    settings = replace(settings, curate=False)
    with pytest.raises(InterruptedRunError, match="the same command goes on from there"):
        dial(settings, dies_after=300)
    whole, paid_then = dial(settings)
    elsewhere = replace(settings, curation=replace(settings.curation, store=f"{settings.curation.store}-2"))
    fresh, paid_at_once = dial(elsewhere)
    assert paid_then < paid_at_once
    assert [setting.share for setting in whole.settings] == [setting.share for setting in fresh.settings]


def test_rollouts_are_in_the_ledger_under_the_usual_sampling(settings: DialSettings) -> None:
    report, paid = dial(replace(settings, curate=False))
    stored = pl.read_parquet(f"{settings.curation.store}/rollouts/**/*.parquet")
    assert stored.height == paid == report.generated
    assert stored["rollout_index"].unique().sort().to_list() == [0, 1]


@pytest.mark.parametrize(
    ("values", "side"),
    [("5,8", "every setting is easier than that: give largest harder values"), ("150,400", "easier values")],
)
def test_where_all_settings_are_on_one_side_it_says_so(settings: DialSettings, values: str, side: str) -> None:
    grid = KnobGrid((read_axis("largest", values),))
    report, _ = dial(replace(settings, grid=grid))
    assert report.outcome == "unreachable"
    assert report.curation is None
    assert side in report.advice
    assert "No setting is within 0.5 ± 0.1. The nearest: largest=" in describe_outcome(report)


def test_a_jump_over_the_target_is_called_one(settings: DialSettings) -> None:
    report, _ = dial(replace(settings, grid=KnobGrid((read_axis("largest", "6,8,300,400"),))))
    assert report.outcome == "unreachable"
    assert "pass rates jump over it: give largest values in between" in report.advice


def test_a_spent_budget_names_the_best_setting(settings: DialSettings) -> None:
    report, paid = dial(replace(settings, budget=250, aim=Aim(0.5, 0.02)))
    assert report.outcome == "budget"
    assert paid <= 250
    assert report.curation is None
    assert "a larger `budget`" in report.advice
    assert "The budget is spent" in describe_outcome(report)


def test_settings_that_run_out_of_prompts_are_left(settings: DialSettings) -> None:
    """Two numbers up to 1 make few prompts; the search goes on elsewhere, and ends where there is nothing left."""
    curation = replace(settings.curation, prompts=PromptSettings(forms=("Addition",)))
    grid = KnobGrid((read_axis("largest", "1,2"),))
    report, paid = dial(DialSettings(curation, grid, Aim(0.98, 0.01), budget=4096))
    assert report.outcome == "dry"
    assert [setting.prompts for setting in report.settings] == [3, 6]
    assert paid == 2 * (3 + 6)  # the problems of 1 are asked at 2 as well, in other words
    assert "other knobs, with which there are more prompts" in report.advice


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ("largst=2..5", r"nothing can be asked at largst=2: .*no knob 'largst': did you mean 'largest'"),
        ("largest=0..3", r"nothing can be asked at largest=0: arithmetic knob largest=0 is out of range"),
        ("largest=a,b", r"nothing can be asked at largest=a: .*give a whole number"),
    ],
)
def test_a_wrong_knob_costs_nothing(settings: DialSettings, axis: str, message: str) -> None:
    knob, _, text = axis.partition("=")
    curation = replace(settings.curation, prompts=PromptSettings(forms=("Addition",)))
    with pytest.raises(LearnableError, match=message):
        dial(replace(settings, curation=curation, grid=KnobGrid((read_axis(knob, text),))), dies_after=0)
    assert not Path(settings.curation.store).exists()


def test_a_budget_that_cannot_work(settings: DialSettings) -> None:
    with pytest.raises(LearnableError, match="`budget` 100 is out of range: give 192 or more"):
        replace(settings, budget=100)


def test_knobs_of_another_generator_are_in_its_location() -> None:
    chain = CurateSettings(prompts=PromptSettings(location="reasoning-gym:chain_sum"))
    at = settings_at(chain, {"num_terms": "4", "level.num_digits": "1&2"}).prompts.location
    assert at == "reasoning-gym:chain_sum?num_terms=4&level.num_digits=1%262"
