from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learnable.data.band import Band
from learnable.data.errors import LearnableError, UnknownNameError
from learnable.filters.decisions.presets import RULES, Preset, find_preset, list_presets
from tests.support.paths import ROOT

SHIPPED = sorted((ROOT / "filters" / "preset_files").glob("*.toml"))
ALL_KEYS = """
band = [0.3, 0.7]
min_std = 0.05
by = "pass"
top = 7
top_of = "scored"
rank_by = "p_keep"
reserve = [0, 0.3]
quota = 0.5
quota_by = "form"
floor = 2
"""
EVERYTHING = Preset(
    name="mine",
    band=Band(0.3, 0.7, 0.05, "pass"),
    top=7,
    top_of="scored",
    rank_by="p_keep",
    reserve=(0.0, 0.3),
    quota=0.5,
    quota_by="form",
    floor=2,
)


def written(folder: Path, text: str) -> str:
    (folder / "mine.toml").write_text(text, encoding="utf-8")
    return str(folder / "mine.toml")


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_every_shipped_file_is_a_preset_by_its_name(file: Path) -> None:
    preset = find_preset(file.stem)
    assert preset.name == file.stem
    assert preset == find_preset(str(file))


def test_the_shipped_names_are_those_of_the_files() -> None:
    assert list(list_presets()) == [file.stem for file in SHIPPED] == ["band", "hard-biased", "max-learnability"]


def test_shipped_presets_say_what_they_are_known_for() -> None:
    assert find_preset("band") == Preset("band") == replace(Preset("band"), band=Band(0.2, 0.8))
    assert find_preset("hard-biased") == Preset("hard-biased", band=Band(0.05, 0.6), reserve=(0.0, 0.2))
    best = find_preset("max-learnability")
    assert (best.top, best.top_of, best.rank_by, best.band) == (256, "scored", "learnability", Band())


def test_a_file_can_say_everything(tmp_path: Path) -> None:
    assert all(f"\n{key} = " in ALL_KEYS for key in RULES)
    assert find_preset(written(tmp_path, ALL_KEYS)) == EVERYTHING


def test_an_empty_file_is_the_default(tmp_path: Path) -> None:
    assert find_preset(written(tmp_path, "")) == Preset("mine")


def test_an_unknown_key_names_file_key_and_the_nearest(tmp_path: Path) -> None:
    path = written(tmp_path, "qouta = 0.5")
    with pytest.raises(UnknownNameError) as error:
        find_preset(path)
    assert str(error.value) == f"unknown key of {path} 'qouta': did you mean 'quota' or 'quota_by'?"


WRONG: list[tuple[str, Any, str, str]] = [
    ("band", [0.8, 0.2], "[0.8, 0.2]", "`band` 0.8 0.2"),
    ("band", [0.2, 1.5], "[0.2, 1.5]", "`band` 0.2 1.5"),
    ("band", [0.2], "[0.2]", "`band` 0.2"),
    ("band", 0.5, "0.5", "`band` 0.5"),
    ("band", ["a", "b"], "['a', 'b']", "`band` a b"),
    ("min_std", 0.6, "0.6", "`min_std` 0.6"),
    ("min_std", -0.1, "-0.1", "`min_std` -0.1"),
    ("min_std", "much", "'much'", "`min_std` much"),
    ("by", "vibes", "'vibes'", "`signal` vibes"),
    ("by", ["pass"], "['pass']", "`signal` pass"),
    ("top", 0, "0", "`top` 0"),
    ("top", 2.5, "2.5", "`top` 2.5"),
    ("top", True, "True", "`top` True"),
    ("top_of", "all", "'all'", "`top_of` all"),
    ("rank_by", "mean", "'mean'", "`rank_by` mean"),
    ("reserve", [0.2, 0.2], "[0.2, 0.2]", "`reserve` 0.2 0.2"),
    ("quota", 0, "0", "`quota` 0"),
    ("quota", 1.01, "1.01", "`quota` 1.01"),
    ("quota", True, "True", "`quota` True"),
    ("quota", float("nan"), "nan", "`quota` nan"),
    ("quota_by", "length", "'length'", "`quota_by` length"),
    ("floor", -1, "-1", "`floor` -1"),
    ("floor", 0.5, "0.5", "`floor` 0.5"),
]


def as_toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


@pytest.mark.parametrize(("key", "value", "shown", "flag"), WRONG)
def test_a_wrong_value_names_file_or_flag_key_value_and_fix(
    tmp_path: Path, key: str, value: Any, shown: str, flag: str
) -> None:
    path, fix = written(tmp_path, f"{key} = {as_toml(value)}"), f"cannot work: give {RULES[key][1]}"
    with pytest.raises(LearnableError) as in_file:
        find_preset(path)
    assert str(in_file.value) == f"{path}: {key} = {shown} {fix}"
    with pytest.raises(LearnableError) as in_flag:
        Preset("band").override(**{key: value})
    assert str(in_flag.value) == f"{flag} {fix}"
    if key not in ("band", "min_std", "by"):
        with pytest.raises(LearnableError, match=f"preset odd: {key} = "):
            Preset("odd", **{key: value})


def test_every_key_has_a_wrong_value_above() -> None:
    assert {key for key, *_ in WRONG} == set(RULES)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("max-learnabilty", "unknown preset 'max-learnabilty': did you mean 'max-learnability'"),
        ("zzz", "unknown preset 'zzz': known: band, hard-biased, max-learnability"),
        ("none.toml", "preset 'none.toml' cannot be read: No such file"),
        ("./none", "preset './none' cannot be read: No such file"),
    ],
)
def test_an_unknown_preset_names_the_nearest(name: str, says: str) -> None:
    with pytest.raises(LearnableError, match=says):
        find_preset(name)


@pytest.mark.parametrize("content", [b"band = [0.2,", b"\xff\xfe"])
def test_a_broken_file_says_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mine.toml").write_bytes(content)
    with pytest.raises(LearnableError, match=r"mine\.toml is no TOML: "):
        find_preset(str(tmp_path / "mine.toml"))


def test_flags_override_and_absent_ones_do_not() -> None:
    hard = find_preset("hard-biased")
    assert hard.override(band=None, quota=None, top=None) == hard
    assert hard.override(band=(0.1, 0.5)) == replace(hard, band=replace(hard.band, low=0.1, high=0.5))
    assert hard.override(by="pass", quota=0.25) == replace(hard, band=replace(hard.band, signal="pass"), quota=0.25)
    assert find_preset("max-learnability").override(top=3).top == 3


def test_flags_can_say_everything() -> None:
    flags = {"band": (0.3, 0.7), "min_std": 0.05, "by": "pass", "top": 7, "top_of": "scored", "rank_by": "p_keep"}
    more = {"reserve": (0.0, 0.3), "quota": 0.5, "quota_by": "form", "floor": 2}
    assert Preset("mine").override(**flags, **more) == EVERYTHING


def test_a_flag_that_presets_lack_is_an_error() -> None:
    with pytest.raises(UnknownNameError, match="unknown key of the settings 'min_sdt': did you mean 'min_std'"):
        Preset("band").override(min_sdt=0.1)
