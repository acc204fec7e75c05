"""What is in a report: every prompt with its figures, completions as far as there is room, nothing of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from learnable.data.curated.curated_set import CuratedSet, open_curated
from learnable.data.storage.places import find_place
from learnable.data.store import Store
from learnable.viewing import groups, sample
from learnable.viewing import report as module
from learnable.viewing.report import write_report
from tests.flows.scripted_shell_for_tests import ScriptedShell
from tests.support.domains import needs_poems
from tests.viewing.pages_for_tests import FIND, HOSTILE, POEM, SCRIPT, read_column, read_parts, write_set

pytestmark = needs_poems  # their pool mixes poems with other prompts


def opened() -> CuratedSet:
    return open_curated("store/curated/set")


def test_a_run_leaves_a_report_with_every_prompt_and_completion(report: Path) -> None:
    parts = read_parts(report.read_text())
    summary, ids = parts["summary"], read_column(parts, "prompt_id")
    assert len(ids) == len(set(ids)) == len(SCRIPT) == summary["totals"]["prompts"]
    kept = sum(opened().read(part).num_rows for part in ("train", "test"))
    assert summary["totals"]["kept"] == read_column(parts, "decision").count("keep") == kept > 40
    assert summary["sample"]["completions"] == summary["scores"]["completions"] == 8 * len(SCRIPT)
    texts = {
        one["text"] for name in parts if name.startswith("block-") for p in parts[name] for one in p["completions"]
    }
    assert texts == {text for completions in SCRIPT.values() for text in completions}


def test_figures_are_those_of_the_set(report: Path) -> None:
    parts = read_parts(report.read_text())
    rows = {row["prompt_id"]: row for part in ("train", "test", "rejects") for row in opened().read(part).to_pylist()}
    for name, mean, usable in zip(
        *(read_column(parts, column) for column in ("prompt_id", "mean", "usable_at_g")), strict=True
    ):
        assert mean == pytest.approx(rows[name]["mean"], rel=1e-3)
        assert usable == pytest.approx(rows[name]["usable_at_g"], rel=1e-3)
    means = parts["summary"]["means"]
    assert sum(means["kept"]) + sum(means["others"]) == len(rows)
    assert means["others"][-1] >= 20


def test_the_poem_is_explained_line_by_line(report: Path) -> None:
    parts = read_parts(report.read_text())
    poem = next(p for name in parts if name.startswith("block-") for p in parts[name] if "schemes" in p["spec"])
    best = poem["completions"][0]
    assert best["text"] == POEM
    assert [line["text"] for line in best["explanation"]["lines"]] == POEM.split("\n")
    assert all("/" in line["marks"] for line in best["explanation"]["lines"])
    rhyme = best["explanation"]["headings"].index("rhyme")
    assert [line["figures"][rhyme][0][0] for line in best["explanation"]["lines"]] == ["a", "b", "a", "b"]


def test_the_program_has_its_failing_case(report: Path) -> None:
    parts = read_parts(report.read_text())
    program = next(p for name in parts if name.startswith("block-") for p in parts[name] if "cases" in p["spec"])
    assert program["completions"][-1]["reason"] == "wrong answer: case 0"
    assert program["spec"]["cases"][0] == [[0], 9]


def test_nothing_of_a_completion_or_of_the_machine_stands_in_the_page_itself(report: Path, tmp_path: Path) -> None:
    text = report.read_text()
    assert HOSTILE[:40] not in text
    assert "owned" not in text
    assert str(tmp_path) not in text
    parts = read_parts(text)
    assert str(tmp_path) not in str(parts)
    assert any(
        one["text"] == HOSTILE
        for name in parts
        if name.startswith("block-")
        for p in parts[name]
        for one in p["completions"]
    )


def test_a_version_is_the_same_with_and_without_its_report(report: Path) -> None:
    before = opened()
    before.check_shards(list(before.manifest.parts))
    report.unlink()
    written = write_report(before, find_place(report))
    assert written.prompts == len(SCRIPT)
    assert opened().manifest == before.manifest


def test_a_run_of_too_many_prompts_leaves_no_report(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report.unlink()
    for most, is_left in ((len(SCRIPT) - 1, False), (len(SCRIPT), True)):
        monkeypatch.setattr(module, "AFTER_A_RUN", most)
        module.write_beside(opened(), Store("store"))
        assert report.is_file() == is_left


def test_equal_sets_give_equal_reports(report: Path, tmp_path: Path) -> None:
    for name in ("one.html", "two.html"):
        write_report(opened(), find_place(tmp_path / name))
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_however_few_scores_are_in_memory_the_report_is_the_same(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "ROLLOUTS_AT_ONCE", 100)  # 12 prompts of 8
    write_report(opened(), find_place(tmp_path / "shared.html"), explained=module.EXPLAINED_AFTER_A_RUN)
    assert (tmp_path / "shared.html").read_bytes() == report.read_bytes()


def test_no_more_completions_are_in_memory_than_may_be(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "PILOT", 16)
    monkeypatch.setattr(sample, "COMPLETIONS", 20 * 8)
    told = write_report(opened(), find_place(tmp_path / "few.html"))
    assert (told.prompts, told.with_completions) == (len(SCRIPT), 16 + 20)


def test_where_room_is_short_some_of_every_form_and_decision_have_completions(report: Path, tmp_path: Path) -> None:
    whole = len(report.read_bytes())
    small = tmp_path / "small.html"
    told = write_report(opened(), find_place(small), room=whole - 4_000)
    parts = read_parts(small.read_text())
    assert told.size <= whole - 4_000
    assert read_column(parts, "prompt_id") == read_column(read_parts(report.read_text()), "prompt_id")
    assert parts["summary"]["sample"]["with_completions"] == told.with_completions < len(SCRIPT)


def test_a_set_apart_from_its_store_has_a_report_without_completions(report: Path, tmp_path: Path) -> None:
    moved = tmp_path / "copy"
    report.parent.rename(moved)
    told = write_report(open_curated(moved), find_place(tmp_path / "apart.html"))
    assert told.with_completions == 0
    assert read_parts((tmp_path / "apart.html").read_text())["summary"]["scores"] is None


def test_what_changed_since_the_version_before(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shell = ScriptedShell(tmp_path, capfd)
    write_set(shell)
    assert shell.find(*FIND, "--band", "0.6", "0.9").status == 0
    parts = read_parts((tmp_path / "store/curated/set/v0002/report.html").read_text())
    assert parts["summary"]["parent"] == "v0001"
    assert sum(count for _, _, count in parts["summary"]["changes"]) == len(SCRIPT)
    first = open_curated("store/curated/set/v0001")
    assert any(before == "keep" != now for before, now, _ in parts["summary"]["changes"])
    assert read_column(parts, "before").count("keep") == len(first.read("train")) + len(first.read("test"))


def test_the_command_says_what_it_wrote(report: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shell = ScriptedShell(tmp_path, capfd)
    told = shell.type("report", "set", "--store", "store", "--output", "out.html", "--json").report
    assert told == {
        "report": "out.html",
        "bytes": Path("out.html").stat().st_size,
        "prompts": 83,
        "with_completions": 83,
    }
    missing = shell.type("report", "set", "--store", "store", "--run", "nowhere")
    assert missing.status == 2
    assert "'nowhere' has no metrics.jsonl: give the folder of a training run" in missing.err
