"""Files of variants, grids and seeds: which runs they make, and what they are refused for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.train.ablation.planning import Ablation, list_ablations, read_ablation
from learnable.train.preflight.bounds import check_numbers


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def read(text: str, curated: str = "store/curated/sums") -> Ablation:
        file = tmp_path / "mine.toml"
        file.write_text(text)
        return read_ablation(str(file), curated)

    return read


@pytest.mark.parametrize("name", list_ablations())
def test_a_shipped_ablation_loads_and_each_variant_can_work(name: str) -> None:
    ablation = read_ablation(name, "store/curated/sums/v0003")
    assert ablation.title
    assert len(ablation.seeds) >= 3
    assert len(ablation.variants) >= 2
    for variant in ablation.variants:
        check_numbers(variant.settings)
        own = variant.settings.curated != "store/curated/sums/v0003"
        assert own == bool(variant.made_by)
        assert f"--name {Path(variant.settings.curated).name}" in (variant.made_by or "--name v0003")


def test_what_is_shipped() -> None:
    wanted = "bands easy-only fewer-rollouts learnable-forms lower-rate pre-filtered samplers single-form"
    assert list_ablations() == tuple(wanted.split())
    variants = read_ablation("samplers", "SET").variants
    assert {(variant.settings.part, variant.settings.sampler) for variant in variants} == {
        ("train", "static"),
        ("train", "live"),
        ("pool", "live"),
        ("pool", "static"),
        ("control", "static"),
    }
    sets = {Path(variant.settings.curated).name for variant in read_ablation("bands", "store/curated/sums").variants}
    assert sets == {"sums", "band-10-60", "hard-biased"}


@pytest.mark.parametrize("name", ["fewer-rollouts", "pre-filtered"])
def test_runs_said_to_make_equal_completions_do(name: str) -> None:
    settings = [variant.settings for variant in read_ablation(name, "SET").variants]
    assert len({one.steps * one.step_size for one in settings}) == 1


def test_each_run_is_there_at_each_point_of_the_grid(read: Any) -> None:
    ablation = read("""
seeds = [3, 5]
at_step = 7
[base]
beta = 0.1
trl = { top_entropy_quantile = 0.2 }
[[run]]
name = "a"
[[run]]
name = "b"
preset = "mini-r1"
trl = { epsilon_high = 0.28 }
[grid]
learning_rate = [1e-4, 1e-5]
families = [["x", "y"], []]
""")
    names = [
        f"{run}, learning_rate={rate}, families={f}"
        for run in "ab"
        for rate in ("0.0001", "1e-05")
        for f in ("x y", "")
    ]
    assert [variant.name for variant in ablation.variants] == names
    assert (ablation.seeds, ablation.at_step) == ((3, 5), 7)
    first, last = ablation.variants[0].settings, ablation.variants[-1].settings
    assert (first.steps, first.beta, first.learning_rate, first.families) == (7, 0.1, 1e-4, ("x", "y"))
    assert first.curated == last.curated == "store/curated/sums"
    assert (last.beta, last.learning_rate, last.families) == (0.001, 1e-5, ())  # beta is the preset's
    assert last.trl == {"top_entropy_quantile": 0.2, "lr_scheduler_type": "cosine", "epsilon_high": 0.28}
    assert ablation.variants[-1].differs["preset"] == "mini-r1"


def test_a_set_of_a_variants_own_lies_beside_the_others_or_where_its_path_says(read: Any) -> None:
    text = '[[run]]\nname = "a"\ncurated = "easy"\n[[run]]\nname = "b"\ncurated = "other/easy"\n[[run]]\nname = "c"\n'
    sets = [variant.settings.curated for variant in read(text, "store/curated/sums/v0002").variants]
    assert sets == ["store/curated/easy", "other/easy", "store/curated/sums/v0002"]


def test_a_file_of_seeds_alone_has_one_variant(read: Any) -> None:
    ablation = read('seeds = [0, 1]\n[base]\ncurated = "s"\n', "")
    assert [(variant.name, dict(variant.differs)) for variant in ablation.variants] == [("base", {})]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[base]\nstepps = 3\n", r"mine.toml: run 'base': key 'stepps' is not known: did you mean 'steps'\?"),
        ('[base]\nsteps = "3"\n', r"run 'base': steps = '3' cannot work: it takes int"),
        ("[base]\nsteps = true\n", r"steps = True cannot work"),
        ('[base]\nfamilies = "x"\n', r"families = 'x' is no list: give families = \['x'\]"),
        ("[base]\nfamilies = [1]\n", r"families = \(1,\) cannot work"),
        ("[base]\nreward_range = [0.0]\n", r"reward_range = \(0.0,\) cannot work"),
        ("[base]\nseed = 3\n", r"key 'seed' belongs to no variant: give seeds"),
        ('[[run]]\nname = "a"\noutput = "o"\n', r"run 'a': key 'output' belongs to no variant: `output` names"),
        ("seeds = [1, 1]\n", r"seeds = \[1, 1\] cannot work: give different numbers"),
        ("seeds = []\n", r"seeds = \[\] cannot work"),
        ("seeds = 3\n", r"seeds = 3 cannot work"),
        ("at_step = 0\n", r"at_step = 0 is no step"),
        ("at_step = 5\n[base]\nsteps = 6\n", r"steps = 6, but at_step = 5 trains all runs to there: leave one out"),
        ("[grid]\nsteps = 5\n", r"\[grid\] steps = 5 is no list of values: give steps = \[5, ...\]"),
        ("[grid]\nsteps = []\n", r"\[grid\] steps = \[\] is no list of values"),
        ('[[run]]\nname = "a"\nsteps = 5\n[grid]\nsteps = [5]\n', r"run 'a' gives steps, and so does \[grid\]"),
        ("[run]\nsteps = 5\n", r"run = \{'steps': 5\} is no table: write \[\[run\]\]"),
        ("base = 5\n", r"base = 5 is no table: write \[base\]"),
        ("run = [5]\n", r"run = 5 is no table: write \[\[run\]\]"),
        ("[[run]]\n[[run]]\nsteps = 5\n", r"a \[\[run\]\] has no name"),
        ('[[run]]\nname = "a b"\n[[run]]\nname = "a, b"\n', r"run 'a, b' has the name of another \('a b'\)"),
        (
            '[[run]]\nname = "a"\n[[run]]\nname = "b"\neval_k = 4\n',
            r"run 'b' has eval_k = 4, and 'a' 8: .* in \[base\]",
        ),
        ("[base]\nevaluate = false\n", r"evaluate = false leaves nothing to compare"),
        ("[base", r"mine.toml is no TOML"),
    ],
)
def test_what_cannot_work_is_named_with_its_file_and_the_fix(read: Any, text: str, message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        read(text)


def test_unknown_names_are_offered_the_nearest(read: Any) -> None:
    with pytest.raises(UnknownNameError, match="seeds"):
        read("seed = [1]\n")
    with pytest.raises(UnknownNameError, match="samplers"):
        read_ablation("sampler")
    with pytest.raises(UnknownNameError, match="mini-r1"):
        read('[base]\npreset = "mini-r2"\n')
    with pytest.raises(LearnableError, match=r"gone\.toml' cannot be read"):
        read_ablation("gone.toml")
    with pytest.raises(LearnableError, match="names no curated set: give `curated`"):
        read_ablation("samplers")


def test_an_ablation_of_one_form_takes_the_form_that_is_named() -> None:
    usual, other = (read_ablation("single-form", "store/curated/poems", form).variants[1] for form in ("", "Haiku"))
    assert (usual.name, usual.settings.curated, usual.make) == (
        "sonnet alone",
        "store/curated/sonnet",
        {"form": "sonnet"},
    )
    assert (other.name, other.settings.curated, other.make) == ("haiku alone", "store/curated/haiku", {"form": "haiku"})
    assert other.made_by.endswith("--form haiku --name haiku")
    with pytest.raises(LearnableError, match="samplers is about no form: leave out `form` haiku"):
        read_ablation("samplers", "store/curated/poems", "haiku")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        ("{ bend = [0, 1] }", "unknown .*make: key 'bend': did you mean 'band'"),
        ("{ band = [0.1] }", "make: band = .* is no"),
        ("{ best_forms = true }", "make: best_forms = True is no"),
        ('"band"', "give that, and a table"),
    ],
)
def test_what_makes_no_set_is_refused(read: Any, make: str, message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        read(f'[[run]]\nname="a"\ncurated="other"\nmake={make}\n')
