"""What a run says of its pool: findings, the triage of what was never solved, screening, presets, bad pools."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from learnable.data.curated.curated_set import open_curated
from learnable.data.errors import LearnableError
from learnable.data.policies import find_policy
from learnable.filters.decisions.presets import Preset
from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.curation.pipeline import run_curation
from learnable.flows.curation.report import CurationReport, count_triage, find_warnings
from learnable.flows.engines import use_engine
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.scripted import ScriptedEngine

CHOICES = ["red", "green", "blue", "black", "violet"]
Script = dict[str, list[str]]


def run(folder: Path, script: Script, rows: list[dict[str, Any]] | None = None, **changes: Any) -> CurationReport:
    policy = folder / "policy"
    policy.mkdir(parents=True, exist_ok=True)
    (policy / "config.json").write_text("{}")
    (policy / "model.safetensors").write_bytes(b"weights")
    rows = rows or [question(text) for text in script]
    (folder / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    prompts = replace(changes.pop("prompts", PromptSettings()), location=str(folder / "q.jsonl"))
    settings = CurateSettings(
        prompts=prompts,
        policy=str(policy),
        store=str(folder / "store"),
        workers=0,
        **{"budget": SamplingBudget("fixed"), **changes},
    )
    engine = ScriptedEngine(script)
    engine.policy_id = find_policy(settings.policy).policy_id
    with use_engine(engine, settings):
        return run_curation(settings)


def question(text: str, answer: str = "red", **more: Any) -> dict[str, Any]:
    return {
        "prompt": text,
        "verifier": "choice",
        "spec": {"answer": answer, "choices": CHOICES},
        "family": "colours",
        **more,
    }


def rejects(report: CurationReport) -> pl.DataFrame:
    return pl.DataFrame(open_curated(report.curated).read("rejects"))


def test_what_was_never_solved_is_explained(tmp_path: Path) -> None:
    script = {f"mixed {i}": [CHOICES[i % 4], CHOICES[(i + 1) % 4]] for i in range(30)}
    rows = [question(text, CHOICES[i % 4]) for i, text in enumerate(script)]
    script |= {"doubtful": ["violet"], "silent": ["who knows"], "hard": ["green", "blue", "black"]}
    report = run(tmp_path, script, [*rows, *map(question, ("doubtful", "silent", "hard"))])
    found = {row["prompt"]: row for row in rejects(report).to_dicts()}
    assert found["doubtful"]["triage"] == "bad_label"
    assert "violet" in found["doubtful"]["evidence"]
    assert "red" in found["doubtful"]["evidence"]
    assert found["silent"]["triage"] == "extraction_failed"
    assert found["hard"]["triage"] == "plain_hard"
    assert report.triage == {"bad_label": 1, "extraction_failed": 1, "plain_hard": 1}
    assert report.triage == dict(rejects(report)["triage"].drop_nulls().value_counts().sort("triage").iter_rows())
    assert any("check their labels" in warning for warning in find_warnings(report))


def test_only_rejected_prompts_are_counted_as_never_solved() -> None:
    decided = pl.DataFrame({"prompt_id": ["a", "b", "c"], "decision": ["keep", "too_hard", "too_easy"]})
    triage = pl.DataFrame({"prompt_id": ["a", "b"], "triage": ["near_miss", "plain_hard"]})
    assert count_triage(decided, triage) == {"plain_hard": 1}


def test_findings_are_in_the_report_the_manifest_and_the_warnings(tmp_path: Path) -> None:
    report = run(tmp_path, {f"question {i}": ["red", "green"] for i in range(20)})
    [finding] = [found for found in report.findings if found.code == "constant_component"]
    assert "format is 1 in all 320 rollouts" in finding.text
    assert finding.text in find_warnings(report)
    manifest = open_curated(report.curated).manifest
    assert [found.code for found in manifest.findings] == [found.code for found in report.findings]
    assert {row.component for row in manifest.components} == {"correct", "format"}


def test_what_repeats_another_prompt_or_a_test_item_is_never_sampled(tmp_path: Path) -> None:
    story = "A painter mixes one bucket of paint with another and asks which of the colours is left on the wooden fence"
    script = {
        story: ["red", "green"],
        story.upper() + "!": ["red"],
        "Known from the test": ["red"],
        "own": ["red", "green"],
    }
    (tmp_path / "test.jsonl").write_text(json.dumps({"question": "known from the TEST.", "id": "t7"}))
    wanted = PromptSettings(decontaminate=(str(tmp_path / "test.jsonl"),), near_duplicates=0.9)
    report = run(tmp_path, script, prompts=wanted)
    assert report.totals.rollouts == 2 * 16
    gone = {row["prompt"]: row for row in rejects(report).to_dicts()}
    assert gone[story.upper() + "!"]["decision"] == "duplicate"
    assert gone["Known from the test"]["decision"] == "contaminated"
    assert gone["Known from the test"]["collides_with"].endswith(":t7")
    assert {gone[text]["n"] for text in (story.upper() + "!", "Known from the test")} == {None}


def test_a_preset_chooses_among_the_judged(tmp_path: Path) -> None:
    script = {f"question {i}": ["red", "green"] for i in range(20)}
    script |= {f"rare {i}": ["red", *["green"] * 7] for i in range(10)}
    preset = Preset("mine", top=5, reserve=(0.0, 0.2))
    report = run(tmp_path, script, preset=preset)
    assert report.totals.kept == 5
    assert report.totals.decisions["over_quota"] > 5
    reserve = pl.DataFrame(open_curated(report.curated).read("reserve"))
    assert reserve.height > 0
    assert reserve["mean"].is_between(0, 0.2, closed="none").all()
    assert not set(reserve["prompt_id"]) & set(rejects(report)["prompt_id"])


def test_a_family_of_one_prompt_and_one_without_scores_are_said_so(tmp_path: Path) -> None:
    report = run(tmp_path, {"alone": ["red", "green"]}, budget=SamplingBudget())
    assert report.totals.prompts == 1
    assert any("Beta(.5, .5)" in warning for warning in find_warnings(report))


def test_prompts_that_all_say_the_same_are_one(tmp_path: Path) -> None:
    report = run(tmp_path, {"same": ["red", "green"]}, [question("same")] * 5, budget=SamplingBudget())
    assert report.totals.duplicates == 4
    assert report.totals.prompts == 1


def test_an_evaluation_set_without_its_column_is_named(tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text(json.dumps({"words": "no question here"}))
    with pytest.raises(LearnableError, match=r"test\.jsonl.*words"):
        run(tmp_path, {"a": ["red"]}, prompts=PromptSettings(decontaminate=(str(tmp_path / "test.jsonl"),)))
