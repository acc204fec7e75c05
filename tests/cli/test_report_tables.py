"""The tables of results at the widths of real terminals: nothing is cut, and no figure is lost without a word."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from math import nan
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from rich.console import Console

from learnable.cli.commands.refresh import tabulate_changes
from learnable.cli.commands.show import tabulate_prompts
from learnable.cli.display.fitted_table import FittedTable
from learnable.cli.display.report_tables import tabulate_forms, tabulate_held_out, tabulate_ledger, tabulate_plan
from learnable.data.curated.manifest import SummaryRow
from learnable.data.curated.refreshed import RefreshRecord
from learnable.data.ledger.upkeep import PartSummary
from learnable.filters.decisions.triage import TRIAGES
from learnable.filters.stopping.plan import Estimate
from learnable.train.results.comparison import HeldOut, MeasureChange
from learnable.train.results.statistics import Interval
from tests.cli.files_for_tests import OnATerminal
from tests.support.domains import needs_poems

POLICY = "org/a-model-with-a-rather-long-name-7B-Instruct@0123456789abcdef0123456789abcdef01234567"
LONG_FORMS = ("ShakespeareanSonnet", "CharacterPalindromePoem", "Haiku", "LongestIncreasingSubsequence")


def form(family: str, name: str, scale: int = 1, mean: float | None = 0.774) -> SummaryRow:
    return SummaryRow(
        family=family,
        form=name,
        prompts=12345 * scale,
        kept=11111,
        mean=mean,
        pass_at_1=1.0,
        expected_within_variance=0.17,
        zero_std_share=0.5,
        within_std=0.123,
        between_std=0.041,
    )


CURATION = SimpleNamespace(
    policy=POLICY,
    families=[form("poetry", "", 2), form("programs", "", 2)],
    forms=[*(form("poetry", name) for name in LONG_FORMS), form("programs", "FizzBuzz", mean=None)],
)
INTERVAL = Interval(value=0.4561, low=0.40, high=0.5123)
MEASURE = MeasureChange(before=INTERVAL, after=INTERVAL, change=Interval(value=-0.0312, low=-0.1, high=0.0402))
HELD_OUT = HeldOut(
    prompts=1234,
    group_size=16,
    k=8,
    unscored_before=0,
    unscored_after=0,
    mean_reward=MEASURE,
    pass_at_1=MEASURE,
    pass_at_k=replace(MEASURE, after=Interval(nan, nan, nan)),
    greedy_reward=MEASURE,
    direction="fell",
    greedy_fell=False,
)
FIGURE = Estimate(expected=123456789.0, low=98765432.0, high=150000000.0)
PLAN = SimpleNamespace(
    policy=POLICY, figures=dict.fromkeys(("prompts", "kept", "rollouts", "tokens", "seconds", "cost"), FIGURE)
)
PART = PartSummary(POLICY, "t0.7-p0.95-k50", prompts=1234567, rollouts=23456789, tokens=9876543210, files=12345)
LEDGER = SimpleNamespace(parts=[PART])
CHANGED = {"prompts": 12345, "asked_again": 11111, "kept_before": 10203, "keep_to_drop": 4040, "drop_to_keep": 3030}
REFRESH = {
    "drift": [{"family": "comparison", "trained": trained, "shift": 0.5, "noise": 0.25} for trained in (True, False)],
    "families": [{"family": "comparison"} | CHANGED | {"kept_now": 9193}],
}
CHANGES = SimpleNamespace(refresh=RefreshRecord.from_json(REFRESH))
TABLES = {
    "forms": (tabulate_forms, CURATION),
    "held out": (tabulate_held_out, HELD_OUT),
    "plan": (tabulate_plan, PLAN),
    "ledger": (tabulate_ledger, LEDGER),
    "changes": (tabulate_changes, CHANGES),
}
ALWAYS = {
    "forms": ["expected", "group", "mean", ".17", ".77", ".12", "11111"],
    "held out": [".456", "[.400, .512]", "-.031", "[-.100, +.040]"],
    "plan": ["123,456,789", "98,765,432", "150,000,000"],
    "ledger": ["23,456,789", "9,876,543,210"],
    "changes": ["10203", "4040", "3030", "9193"],
}
AT_80 = {
    "ledger": ["1,234,567", "12,345"],
    "forms": ["12345", ".50", "1.00"],
    "changes": ["12345", "11111", "+.50 ± .25"],
}


def render(table: FittedTable, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return re.sub(r"\x1b\[\d*m", "", console.file.getvalue())


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", TABLES)
def test_no_table_is_wider_than_its_terminal_or_cuts_anything(name: str, width: int) -> None:
    build, report = TABLES[name]
    shown = render(build(report), width)
    assert all(len(line) <= width for line in shown.splitlines()), shown
    assert "…" not in shown
    assert all(figure in shown for figure in ALWAYS[name]), shown
    if width >= 80:
        assert all(figure in shown for figure in AT_80.get(name, ())), shown


def test_every_column_is_there_where_there_is_room() -> None:
    assert all(word in render(tabulate_forms(CURATION), 120) for word in ("rejected", "between", "pass@1", *LONG_FORMS))


def test_what_is_left_out_is_named() -> None:
    shown = render(tabulate_forms(CURATION), 60)
    left_out = " ".join(shown.split("too narrow for:")[1].split())
    assert "rejected" in left_out
    assert "between std" in left_out
    assert "variance" not in left_out
    assert "too narrow" not in render(tabulate_forms(CURATION), 120)


def test_names_fold_rather_than_being_cut() -> None:
    whole = "".join(line[:22].strip() for line in render(tabulate_forms(CURATION), 60).splitlines())
    assert all(name in whole for name in LONG_FORMS)


@pytest.mark.parametrize("width", [60, 80])
def test_decisions_and_triages_are_whole_words(width: int) -> None:
    common = {"prompt_id": "0" * 20, "form": "Sonnet", "prompt": "Write a sonnet. " * 9, "n": 16, "mean": 0, "std": 0}
    for decision, triages in (("too_hard", TRIAGES), ("contaminated", [None])):
        rows = pl.DataFrame([{**common, "decision": decision, "triage": triage} for triage in triages])
        words = render(tabulate_prompts(rows, 8), width).split()
        assert {decision, *filter(None, triages)} <= set(words)


def test_a_figure_without_a_value_is_a_dash() -> None:
    [row] = [line for line in render(tabulate_forms(CURATION), 120).splitlines() if "FizzBuzz" in line]
    assert " - " in row


@pytest.mark.parametrize("width", [60, 80])
def test_find_learnable_reads_well_on_a_narrow_terminal(
    on_a_terminal: OnATerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = "find --engine simulated --family simulated --limit 64 --no-prefect --workers 0".split()
    lines = on_a_terminal(width, *typed)
    table = lines[: lines.index("")]
    assert all(len(line) <= width for line in table), lines
    assert "…" not in "".join(lines)
    [row] = [line.split() for line in lines if line.startswith("Simulated")]
    assert all(re.fullmatch(r"\d+|\d?\.\d\d", figure) for figure in row[1:])


@needs_poems
@pytest.mark.parametrize("width", [60, 80])
def test_a_long_line_of_verse_keeps_its_marks_over_it(
    on_a_terminal: OnATerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.chdir(tmp_path)
    verse = [
        "Shall I compare thee to a summer's day, or to a winter's night of frost and snow?",
        "Thou art more lovely",
    ]
    (tmp_path / "poem.txt").write_text("\n".join(verse))
    lines = on_a_terminal(width, "explain", "--form", "couplet", "poem.txt")
    poem = lines[: lines.index("")]
    assert all(len(line) <= width for line in lines)
    assert "…" not in "".join(lines)
    left = poem[0].index("Couplet")
    over, under = [line[left:] for line in poem[1::2]], [line[left:] for line in poem[2::2]]
    assert " ".join(text.strip() for text in under) == " ".join(verse)
    stressed = [
        (text[place], mark) for marks, text in zip(over, under, strict=True) for place, mark in enumerate(marks)
    ]
    assert all(letter.casefold() in "aeiouy" for letter, mark in stressed if mark in "/x")
