"""`learnable dial` as it is typed."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.cli.files_for_tests import Run

SIMULATED = ("dial", "--family", "simulated", "--engine", "simulated", "--workers", 0, "--quiet")


def test_a_search_and_its_set(run: Run) -> None:
    status, out, _ = run(*SIMULATED, "--limit", 40, "--json")
    report = json.loads(out)
    assert status == 0
    assert (report["outcome"], report["reached"], report["target"], report["tolerance"]) == ("reached", True, 0.5, 0.1)
    assert 0.15 < float(report["nearest"]["knobs"]["alpha"]) < 0.6  # half of Beta(alpha, 0.3) is passed at 0.3
    assert len(report["settings"]) == 12
    assert sum(setting["prompts"] for setting in report["settings"]) * 2 == report["rollouts"] == report["generated"]
    assert report["curation"]["curated"].endswith("curated/simulated-dial/v0001")
    _, again, _ = run(*SIMULATED, "--limit", 40, "--json", "--no-curate")
    assert json.loads(again)["generated"] == 0
    assert json.loads(again)["nearest"] == report["nearest"]


def test_the_curve_is_shown(run: Run) -> None:
    knobs = ("--knob", "alpha=0.1,0.3,2", "--knob", "beta=0.3", "--no-curate")
    status, out, _ = run(*SIMULATED, *knobs)
    assert status == 0
    [low] = [line for line in out.splitlines() if line.startswith("alpha=0.1,")]
    [nearest] = [line for line in out.splitlines() if line.startswith("alpha=0.3,")]
    assert low.count("|") + nearest.count("|") >= 2
    assert "●" in low
    assert "●" in nearest
    assert low.index("●") < nearest.index("●")
    assert "Within 0.5 ± 0.1: alpha=0.3, beta=0.3 passes 0." in out
    assert "next find-learnable --family simulated --knob alpha=0.3 --knob beta=0.3" in " ".join(out.split())


def test_a_dry_run_samples_nothing_and_shows_a_prompt_of_each_setting(run: Run) -> None:
    status, out, said = run("dial", "--family", "arithmetic", "--knob", "largest=3,2000", "--dry-run")
    assert status == 0
    assert "largest=2000" in out
    assert "2 settings of the knobs; the search looks at 8,192 rollouts at most" in out
    assert "left out: LargeSums, LargeProducts, which largest does not move, or leaves without prompts" in said
    _, listed, _ = run("dial", "--form", "LargeSums", "--knob", "digits=2..4", "--dry-run", "--json")
    assert [row["knobs"] for row in json.loads(listed)["settings"]] == [{"digits": d} for d in "234"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--family", "arithmetik"), "did you mean 'arithmetic'?"),
        ((), "one family is dialled at a time, and none is named"),
        (("--form", "Addition", "--family", "counting"), "these are arithmetic, counting"),
        (("--family", "arithmetic", "--knob", "largest"), "--knob 'largest' is not NAME=VALUE"),
        (("--family", "arithmetic", "--knob", "largest=9..3"), "give the lower end first"),
        (("--family", "arithmetic", "--knob", "smallest=1..3"), "have no knob 'smallest'"),
        (
            ("--family", "arithmetic", "--target", "1.5"),
            "--target 1.5 is out of range: give more than 0 and less than 1",
        ),
        (("--family", "arithmetic", "--tolerance", "0"), "--tolerance 0 is out of range"),
        (("--family", "arithmetic", "--budget", "3"), "--budget 3 is out of range: give 192 or more"),
        (("--prompts", "questions.jsonl"), "'questions.jsonl' has no knobs: give --family or --form"),
        (("--family", "simulated"), "no model can answer simulated prompts"),
    ],
)
def test_what_cannot_work_is_said_at_once(run: Run, arguments: tuple[str, ...], message: str) -> None:
    status, out, said = run("dial", *arguments)
    assert (status, out) == (2, "")
    assert message in said


@pytest.mark.usefixtures("run")
def test_a_narrow_terminal_cuts_no_figure(on_a_terminal: Callable[..., list[str]]) -> None:
    lines = on_a_terminal(44, *map(str, SIMULATED), "--store", "s", "--knob", "alpha=0.1,0.3,2", "--no-curate")
    assert max(map(len, lines)) <= 44 or any("find-learnable" in line for line in lines)
    assert any("too narrow for" in line for line in lines)
