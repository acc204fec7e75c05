"""`learnable train --explain` and the flags beside it: where settings are from, memory, other machines, curricula."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from learnable.data.policies import bundled_policy_path

Run = Callable[..., tuple[int, str, str]]
MakeCurated = Callable[..., Path]


def test_explain_says_where_each_setting_is_from_and_trains_nothing(
    run: Run, make_curated: MakeCurated, tmp_path: Path
) -> None:
    curated = make_curated(bundled_policy_path())
    typed = ("--curated", curated, "--preset", "dapo-like", "--batch-size", 32, "--steps", 3, "--trl", "epsilon=0.3")
    status, out, err = run(*typed, "--explain", "--json")
    rows = {row["name"]: row for row in json.loads(out)["settings"]}

    assert status == 0, err
    assert (rows["steps"]["value"], rows["steps"]["source"]) == (3, "typed")
    assert (rows["no_kl"]["value"], rows["no_kl"]["source"]) == (True, "dapo-like")
    assert rows["no_kl"]["why"]
    assert rows["trl"]["value"] == {"epsilon": 0.3, "epsilon_high": 0.28, "mask_truncated_completions": True}
    assert rows["max_completion_length"]["source"] == "the set"
    assert not (tmp_path / "runs").exists()


def test_explain_shows_the_memory_and_what_to_mind(run: Run, make_curated: MakeCurated) -> None:
    typed = ("--curated", make_curated(bundled_policy_path()), "--temperature", 0.3, "--explain")
    _, out, _ = run(*typed)
    words = " ".join(out.split())
    assert "memory: it takes about" in words
    assert "optimizer 14.6 MiB" in words  # two states of 1,916,640 weights
    assert "warning: --temperature 0.3 is low" in words

    told = json.loads(run(*typed, "--json")[1])
    assert told["memory"]["optimizer"] == 8 * 1_916_640
    assert told["memory"]["peak"] > told["memory"]["optimizer"]
    assert any("--temperature 0.3" in warning for warning in told["warnings"])
    assert [note for note in told["notes"] if "8 of the set's 8 train prompts a step" in note] == told["notes"]


@pytest.mark.parametrize(
    ("machine", "fit", "words"),
    [
        (("--gpu-memory", 80, "--gpus", 4), "fits", "4 GPUs of 80.0 GiB: the run fits, it takes about"),
        (("--gpu-memory", 80), "fits", "a GPU of 80.0 GiB: the run fits, it takes about"),
        (("--gpu-memory", 0.1), "may not fit", "a GPU of 102.4 MiB: the run may not fit"),
        (("--gpu-memory", 0.01), "cannot fit", "train a smaller policy"),
    ],
)
def test_explain_says_whether_a_run_fits_another_machine(
    run: Run, make_curated: MakeCurated, machine: tuple[object, ...], fit: str, words: str
) -> None:
    typed = ("--curated", make_curated(bundled_policy_path()), "--explain", *machine)
    status, out, _ = run(*typed)
    assert status == 0
    assert words in " ".join(out.split())
    told = json.loads(run(*typed, "--json")[1])
    assert told["machine"]["fit"] == fit
    assert told["memory"]["device"]["kind"] == "cuda"
    more = dict(zip(machine[::2], machine[1::2], strict=True)).get("--gpus", 1)
    assert [row["value"] for row in told["settings"] if row["name"] == "num_processes"] == [more]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (("--gpus", 8, "--explain"), "--gpus 8 says how many and not how large: give --gpu-memory too"),
        (("--gpu-memory", 0, "--explain"), "--gpu-memory 0 is no memory"),
        (("--gpu-memory", 80, "--gpus", 0, "--explain"), "--gpus 0 is no number of GPUs"),
        (("--gpu-memory", 80), "describes a machine that is not here: add --explain"),
        (("--reach", 0.7), "--reach needs looks at held-out prompts during training"),
        (("--reach", 7, "--eval-steps", 5), "--reach 7 is no share"),
    ],
)
def test_flags_that_go_together_are_named(
    run: Run, make_curated: MakeCurated, typed: tuple[object, ...], message: str
) -> None:
    status, _, err = run("--curated", make_curated(bundled_policy_path()), *typed)
    assert status != 0
    assert message in err


def test_a_curriculum_is_explained(run: Run, make_curated: MakeCurated, tmp_path: Path) -> None:
    (tmp_path / "length.toml").write_text(
        'family="arithmetic"\n[[stages]]\nstage="all"\nfrom_step=0\nknobs={digits=5}\n'
    )
    typed = ("--curated", make_curated(bundled_policy_path()), "--curriculum", "length.toml", "--explain", "--json")
    told = json.loads(run(*typed)[1])
    assert told["notes"][0].startswith("curriculum length.toml, by step: all from step 0 (8 prompts)")
    assert {"curriculum", "curriculum_by"} <= {row["name"] for row in told["settings"]}
