"""`learnable eval` as it is typed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import comb
from pathlib import Path

import pytest

from tests.cli.files_for_tests import Once, Run

FIND = ("find", "--family", "simulated", "--limit", 80, "--no-prefect", "--quiet", "--json")
SIMULATED = ("--engine", "simulated", "--workers", 0)
EVAL = ("eval", "--curated", "learnable-store/curated/simulated", *SIMULATED)


@pytest.fixture
def curated(run: Run, once: Once) -> Run:
    """Return `run` in a folder with a simulated set."""

    def find() -> str:
        status, out, _ = run(*FIND, *SIMULATED, "--test-share", 0.4)
        assert status == 0
        return out

    once("simulated", find)
    return run


def test_an_evaluation_and_its_file(curated: Run) -> None:
    status, out, _ = curated(*EVAL, "--json", "--group-size", 8, "--k", 4, "--limit", 30, "--output", "now.json")
    report = json.loads(out)
    assert status == 0
    assert json.loads(Path("now.json").read_text()) == report
    assert (report["policy_id"], report["held_out"], report["k"], report["confidence"]) == (
        "simulated",
        "pool",
        4,
        0.95,
    )
    assert len(report["prompts"]) == report["figures"][0]["prompts"] == 30
    assert {row["name"] for row in report["figures"] if row["by"] == "part"} == {"kept", "rejected"}
    status, out, _ = curated(*EVAL, "--json", "--group-size", 8, "--k", 4, "--limit", 30, "--against", "now.json")
    again = json.loads(out)
    assert again["generated"] == 0
    assert again["against"]["changes"][0]["mean_reward"]["value"] == 0


def test_the_figures_are_shown(curated: Run) -> None:
    curated(*EVAL, "--quiet", "--output", "now.json")
    status, out, _ = curated(*EVAL, "--quiet", "--against", "now.json", "--confidence", 0.9)
    assert status == 0
    lines = out.splitlines()
    assert sum(line.startswith("part kept") for line in lines) == sum(line.startswith("all") for line in lines) == 3
    assert "32 new completions a prompt, 90% intervals" in out
    assert "simulated against simulated: held-out reward shows no clear change" in out
    assert out.rstrip().endswith("0 completions are new")


@pytest.mark.parametrize("several", [("--k", 8, "--k", 1, "--k", 4), ("--k", "1,4", "--k", "8,4")])
def test_each_k_is_reported_unbiased(curated: Run, several: tuple[str | int, ...]) -> None:
    status, out, _ = curated(*EVAL, "--json", "--group-size", 8, "--limit", 30, *several)
    report = json.loads(out)
    whole = report["figures"][0]
    assert (status, report["k"], list(whole["pass_at"])) == (0, 8, ["1", "4", "8"])
    for k, found in whole["pass_at"].items():
        chances = [1 - comb(p["n"] - p["passes"], int(k)) / comb(p["n"], int(k)) for p in report["prompts"]]
        assert found["value"] == pytest.approx(sum(chances) / len(chances))
    assert (whole["pass_at"]["1"], whole["pass_at"]["8"]) == (whole["pass_at_1"], whole["pass_at_k"])
    _, shown, _ = curated(*EVAL, "--group-size", 8, "--limit", 30, *several)
    assert all(f"pass@{k}" in shown for k in (1, 4, 8))


def test_the_sampling_that_is_given_is_the_one_measured(curated: Run) -> None:
    usual = ("--group-size", 8, "--limit", 30, "--json", "--no-greedy")
    _, out, _ = curated(*EVAL, *usual, "--output", "now.json")
    status, cold, _ = curated(*EVAL, *usual, "--temperature", 0.6, "--top-p", 0.95)
    first, other = json.loads(out), json.loads(cold)
    assert (status, other["generated"]) == (0, 240)
    assert (other["sampling"]["temperature"], other["sampling"]["top_p"]) == (0.6, 0.95)
    assert (first["sampling"]["temperature"], first["sampling"]["top_p"]) == (1.0, 1.0)
    status, _, said = curated(*EVAL, *usual, "--temperature", 0.6, "--against", "now.json")
    assert status != 0
    assert "was sampled otherwise" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--k", 64), "--k 64 is not among 1 to 32"),
        (("--k", "1,64"), "--k 64 is not among 1 to 32"),
        (("--k", "1,0"), "--k 0 is not among 1 to 32"),
        (("--k", "1,two"), "--k two is no whole number"),
        (("--k", "1,"), "is no whole number"),
        (("--temperature", 0), "--temperature 0 is out of range"),
        (("--top-p", 1.5), "--top-p 1.5 is out of range"),
        (("--held-out", "keep"), "--held-out 'keep' is not known: choose one of kept, pool"),
        (("--policy", "p"), "--engine simulated asks no model: leave out --policy p"),
        (("--against", "p"), "give that file to --against"),
        (("--engine", "vllm"), "was made by engine 'simulated', and --engine vllm cannot answer its prompts"),
    ],
)
def test_what_cannot_work_is_said_at_once(curated: Run, arguments: tuple[object, ...], message: str) -> None:
    status, out, said = curated(*EVAL, *arguments)
    assert (status, out) == (2, "")
    assert message in said


def test_a_set_that_is_not_there_is_named(run: Run) -> None:
    status, out, said = run("eval", "--curated", "nowhere")
    assert (status, out) == (2, "")
    assert "curated set 'nowhere' does not exist" in said


def read_mean_rewards(lines: list[str]) -> list[list[str]]:
    """Return the figures of the first column of figures, line by line: a value, or the two ends of its interval."""
    return [
        re.findall(r"\d*\.\d+", line)[: 2 if line[0] == " " else 1] for line in lines if re.search(r"\.\d\d\d", line)
    ]


def test_a_narrow_terminal_cuts_no_figure(curated: Run, on_a_terminal: Callable[..., list[str]]) -> None:
    assert curated(*EVAL, "--quiet")[0] == 0
    wide, narrow = (
        [line for line in on_a_terminal(width, *map(str, EVAL), "--quiet") if "completions are new" not in line]
        for width in (200, 44)
    )
    assert max(map(len, narrow)) <= 44 < max(map(len, wide))
    assert any("too narrow for" in line for line in narrow)
    assert read_mean_rewards(narrow) == read_mean_rewards(wide)
    assert len(read_mean_rewards(wide)) > 10
