"""A file with graded prompts whose rewards are all equal, through the command line: they are not the best of it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.files_for_tests import Run
from tests.flows.curation.test_graded_rewards import write_dead_among_others


def test_the_best_prompts_of_a_file_are_none_that_always_score_alike(run: Run, tmp_path: Path) -> None:
    file = write_dead_among_others(tmp_path)
    ranked = ("--preset", "max-learnability", "--top", 40)
    quiet = ("--no-prefect", "--workers", 0, "--quiet", "--json")
    status, out, err = run("find", "--engine", "simulated", "--prompts", file, *ranked, *quiet)
    assert status == 0, err
    kept = {row["form"]: row["kept"] for row in json.loads(out)["forms"]}
    assert kept["Dead"] == 0
    assert sum(kept.values()) == 40
