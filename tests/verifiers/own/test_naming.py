"""Names of judges carry what is said of them, and packages offer judges by name."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.records import installed_verifiers, is_own_verifier
from learnable.verifiers.own.loading import JudgeError
from learnable.verifiers.own.naming import read_name, state_range
from learnable.verifiers.registry import trust_verifier


def test_options_behind_a_question_mark() -> None:
    found = read_name("judges/my.py:Judge?strict=true&range=0..2&pass=1")
    assert (found.place, found.reward_range, found.passes_at) == ("judges/my.py:Judge", "0..2", "1")
    assert (dict(found.arguments), found.is_trls) == ({"strict": "true"}, False)
    assert read_name("trl:accuracy_reward").place == "trl.rewards:accuracy_reward"
    assert read_name("trl:accuracy_reward").is_trls


@pytest.mark.parametrize("option", ["range", "=2", "a=1&a=2"])
def test_options_that_are_none_are_named(option: str) -> None:
    with pytest.raises(JudgeError, match=r"behind '\?' is not NAME=VALUE, or said twice"):
        read_name(f"my.py:score?{option}")


def test_flags_are_added_to_the_name_once() -> None:
    assert state_range("my.py:score", None, None) == "my.py:score"
    assert state_range("my.py:score", "-1..1", None) == "my.py:score?range=-1..1"
    assert state_range("my.py:score?range=0..4", None, 3.0) == "my.py:score?range=0..4&pass=3"
    with pytest.raises(JudgeError, match="says so already: say it once"):
        state_range("my.py:score?range=0..4", "0..4", None)
    with pytest.raises(JudgeError, match="`verifier_range` and `verifier_pass`: 'number' is a verifier of ours"):
        state_range("number", "0..4", 1.0)
    with pytest.raises(LearnableError, match="is no range of rewards"):
        state_range("my.py:score", "0-4", None)


def test_a_package_offers_a_verifier_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "brevity").mkdir()
    (tmp_path / "brevity" / "__init__.py").write_text(
        "def score(completions, **columns):\n    return [float(len(c) < 5) for c in completions]\n"
    )
    (tmp_path / "brevity-1.dist-info").mkdir()
    (tmp_path / "brevity-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: brevity\nVersion: 1\n")
    (tmp_path / "brevity-1.dist-info" / "entry_points.txt").write_text(
        "[learnable.verifiers]\nshort = brevity:score\nnumber = brevity:score\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    installed_verifiers.cache_clear()
    try:
        assert is_own_verifier("short")
        assert is_own_verifier("short?range=0..2")
        judge = trust_verifier("short")
        assert [judge.score(text, prompt="", spec={}).reward for text in ("yes", "no, not at all")] == [1.0, 0.0]
        assert judge.name == "short"
        assert trust_verifier("short?range=0..2").score("yes", prompt="", spec={}).reward == 0.5
        assert trust_verifier("number").name == "number"  # ours, whatever packages call theirs
        assert not isinstance(trust_verifier("number"), type(judge))
        with pytest.raises(UnknownNameError, match="did you mean 'short'"):
            trust_verifier("shorts")
    finally:
        installed_verifiers.cache_clear()
        sys.modules.pop("brevity", None)
